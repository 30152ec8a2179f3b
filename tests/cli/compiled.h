// A kernel whose compiled text is kept beside the tool, so that tests compile it once a change.
#pragma once

#include <string>

#include "tests/cli/tool.h"

namespace kiln::test {

inline constexpr const char* kShifted =
    "kernel: shifted\n"
    "params: {b: 64}\n"
    "grid: {i: \"cdiv(n, b)\"}\n"
    "dimension_semantics: parallel\n"
    "scalars: {by: i32}\n"
    "inputs:\n  x: {array: \"f32[n]\", block: b, index: i}\n"
    "outputs:\n  o: {array: \"f32[n]\", block: b, index: i}\n"
    "body: |\n  o = x * 2 + f32(by)\n"
    "golden:\n  - {n: 100, by: 3, seed: 1}\n  - {n: 64, by: 0, seed: 2}\n";

/// With a cache of its own: empty, or the one that lasts.
inline Shown Cached(const std::string& arguments, const Folder& folder,
                    const std::string& before = "",
                    const std::string& cache = fs::path(KILN_TOOL).parent_path() / "test-cache") {
  return Shell(before + " XDG_CACHE_HOME='" + cache + "' kiln " + arguments, folder.path());
}

}  // namespace kiln::test
