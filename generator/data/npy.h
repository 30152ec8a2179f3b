#pragma once

#include <string>
#include <variant>

#include "generator/data/array.h"

namespace kiln {

/// What went wrong, as a sentence that starts with the file's name.
struct NpyError {
  std::string message;
};

/// Reads a .npy file strictly: magic and version (1, 2, 3), header length, dtype, order,
/// shape product against the file's size. `expected` decides how 16-bit payloads are read:
/// bf16 and f16 travel as uint16 bits ('<u2'), 'V2' is accepted for both, '<f2' for f16. Floats of
/// 8 bits travel as '|u1', and 'V1' is accepted for them.
/// Any other disagreement between the file's dtype and `expected` is an error that names both.
std::variant<Array, NpyError> ReadNpy(const std::string& path, DType expected);

/// Reads with the dtype the file says ('<u2' gives u16).
std::variant<Array, NpyError> ReadNpy(const std::string& path);

/// Writes version 1.0, C order, little endian; bf16 and f16 as '<u2' bits.
/// Empty string on success, else "cannot write …", as FileWriter has it.
std::string WriteNpy(const std::string& path, const Array& array);

}  // namespace kiln
