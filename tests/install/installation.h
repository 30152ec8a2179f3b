// An installation, and projects that use it.
#pragma once

#include <algorithm>
#include <string>

#include "tests/cli/tool.h"

namespace kiln::test {

/// Of a long story.
inline std::string End(const Shown& shown) {
  const std::string text = shown.out + shown.err;
  return text.substr(text.size() - std::min<size_t>(text.size(), 4000));
}

inline std::string Quoted(const std::string& text) { return "'" + text + "'"; }

/// An installation, made once.
class Installation {
 public:
  Installation() {
    done_ = Shell("cmake --install " + Quoted(KILN_BUILD_DIR) + " --prefix " + Quoted(prefix()));
  }
  const Shown& done() const { return done_; }
  std::string prefix() const { return folder_ / "prefix"; }

 private:
  Folder folder_;
  Shown done_;
};

inline const Installation& Installed() {
  static const Installation installation;
  return installation;
}

/// What most projects here are built as: kernels for this machine alone that are neither optimised
/// nor have a debugger's tables, which are compiled in a fraction of the time.
constexpr const char* kQuickly =
    "Debug -DKILN_DEBUG_KERNELS=ON -DCMAKE_CXX_FLAGS_DEBUG="
    "'-O0 -march=native -DHWY_COMPILE_ONLY_STATIC'";

/// In the folder, with whatever this machine has to make it fast.
inline Shown Configure(const fs::path& folder, const std::string& project = "app",
                       const std::string& type = kQuickly) {
  return Shell(
      "command -v ccache >/dev/null && export CMAKE_CXX_COMPILER_LAUNCHER=ccache\n"
      "cmake -S " +
          project + " -B build -G Ninja -DCMAKE_PREFIX_PATH=" + Quoted(Installed().prefix()) +
          " -DCMAKE_CXX_COMPILER=" + Quoted(KILN_CXX_COMPILER) +
          " -DCMAKE_CXX_FLAGS=" + Quoted(KILN_CXX_FLAGS) + " -DCMAKE_BUILD_TYPE=" + type,
      folder);
}

}  // namespace kiln::test
