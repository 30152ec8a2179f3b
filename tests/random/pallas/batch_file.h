#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace kiln::soak {

/// Some specs for JAX: `NAME.py` has a function for each of those that Pallas can say, `NAME.npy`
/// the bytes of all their arrays, and `NAME.json` what there is:
///
///   {"number", "text", "skipped": why}
///   {"number", "text", "function", "used": [entries of the coverage report],
///    "arguments": {name: {"dtype", "shape", "at"}},
///    "outputs": {name: {"dtype", "shape", "at", "exact", "relative", "magnitude", "absolute"}
///                or why it is not compared}}
///
/// False if a file could not be written; *why then says so.
bool WriteBatch(const std::vector<uint64_t>& numbers, const std::string& path, int64_t* skipped,
                std::string* why);

}  // namespace kiln::soak
