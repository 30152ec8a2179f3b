#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "generator/data/array.h"

/// Arrays as the words of a command say them: 3,0,5 or random:1.
namespace kiln {

/// False unless all of the text is an integer of 64 bits.
bool ParseInt(const std::string& text, int64_t& out);

/// `3,0,5`, `[[1, 0], [1, 1]]`, or one number. The reason if it is none of them, or does not fit.
std::string ParseLiteral(const std::string& text, DType dtype, size_t rank, Array& out);

/// `random`, `random:SEED`, `zeros` and `ones`, whose shape follows from elsewhere.
bool IsMadeFromShape(const std::string& text);
Array MakeFromShape(const std::string& text, DType dtype, const std::vector<int64_t>& shape);

}  // namespace kiln
