#pragma once

#include <string>

#include "generator/data/array.h"

/// Arrays and times as lines of a terminal.
namespace kiln {

/// In six digits.
std::string Number(double value);
/// "1.2 ms", "3 s"
std::string Duration(double seconds);
/// "12.5 KiB"
std::string Bytes(int64_t bytes);
/// "-1.5 .. 2.25", with a count of what has no order.
std::string RangeText(const Array& array);
/// Four columns.
std::string Row(const std::string& a, const std::string& b, const std::string& c,
                const std::string& d);

}  // namespace kiln
