#pragma once

#include <functional>
#include <map>
#include <string>

#include "generator/native/toolchain.h"

namespace kiln {

/// A source file, with what it includes, that is to become a shared library.
struct Unit {
  std::string name;                          // of the library: NAME.so
  std::string main;                          // the file to compile
  std::map<std::string, std::string> files;  // by name
  // Where else includes are looked for, and what is found there: another text is another library.
  std::string include_folder;
  std::map<std::string, std::string> included;
};

struct CompileOptions {
  std::string folder;  // of the cache; empty: $XDG_CACHE_HOME/kiln or ~/.cache/kiln
  /// Called while a compiler runs, with the time so far, and once at its end.
  std::function<void(double seconds, bool done)> progress;
};

struct Compiled {
  std::string library;  // a path; empty: failed
  std::string error;    // a sentence
  std::string log;      // what matters of the compiler's messages
  bool cached = false;
};

/// The library made of these texts by this toolchain: from the cache, which is addressed by what
/// goes into it, or by compiling now. Several programs may do the same at once.
Compiled CompileCached(const Unit& unit, const Toolchain& tools, const CompileOptions& options);

/// Where compiled kernels are kept, and what was measured of them and of the machine. Empty:
/// neither $XDG_CACHE_HOME nor a home.
std::string CacheFolder();

/// Removes an entry that turned out to be damaged.
void RemoveCached(const std::string& library);

}  // namespace kiln
