#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "generator/native/compiler/toolchain.h"
#include "generator/system/interrupt.h"

namespace kiln {

/// A source file, with what it includes, that is to become a shared library.
struct Unit {
  std::string name;                          // of the library: NAME.so
  std::string main;                          // the file to compile
  std::map<std::string, std::string> files;  // by name
  // Where else includes are looked for, and what is found there: another text is another library.
  std::string include_folder;
  std::map<std::string, std::string> included;
  bool is_kernel = false;  // begins with what all kernels include, which may be precompiled
  bool links_runtime = true;
  bool is_object = false;  // NAME.o instead, of code for all instruction sets; it is not kept

  /// Of its texts: the same in any process and on any machine.
  std::string TextHash() const;
};

struct CompileOptions {
  std::string folder;  // of the cache; empty: CacheFolder()
  /// Called while a compiler runs, here or in another program that makes the same, with the time so
  /// far, and once at its end.
  std::function<void(double seconds, bool done)> progress;
};

struct Compiled {
  std::string library;  // a path, of the object file if it is one; empty: failed
  std::string error;    // a sentence
  std::string log;      // what matters of the compiler's messages
  bool cached = false;
  std::shared_ptr<Temporary> apart;  // where it is if there is no cache: gone with the last copy
};

/// The library made of these texts by this toolchain: from the cache, which is addressed by what
/// goes into it and proves that it is whole, or by compiling now. Several programs that need the
/// same at once compile it once. Where the cache cannot be trusted it is compiled apart from it,
/// and so is an object file, which is there to be looked at.
Compiled CompileCached(const Unit& unit, const Toolchain& tools, const CompileOptions& options);

/// Removes an entry that turned out to be damaged.
void RemoveCached(const std::string& library);

}  // namespace kiln
