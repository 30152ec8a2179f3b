#include "generator/data/summary.h"

#include <algorithm>
#include <cmath>
#include <iomanip>
#include <sstream>
#include <utility>

namespace kiln {

std::string Number(double value) {
  std::ostringstream out;
  out << std::setprecision(6) << value;
  return out.str();
}

std::string Duration(double seconds) {
  return seconds < 1 ? Number(std::round(seconds * 1e5) / 100) + " ms"
                     : Number(std::round(seconds * 100) / 100) + " s";
}

std::string Bytes(int64_t bytes) {
  const char* const units[] = {" bytes", " KiB", " MiB", " GiB", " TiB"};
  double value = static_cast<double>(bytes);
  size_t unit = 0;
  while (value >= 1024 && unit < 4) {
    value /= 1024;
    ++unit;
  }
  return Number(std::round(value * 100) / 100) + units[unit];
}

std::string RangeText(const Array& array) {
  if (array.size() == 0) return "empty";
  double low = INFINITY, high = -INFINITY;
  int64_t nans = 0;
  for (int64_t i = 0; i < array.size(); ++i) {
    const double v =
        IsFloat(array.dtype) ? array.GetFloat(i) : static_cast<double>(array.GetInt(i));
    if (std::isnan(v)) {
      ++nans;
      continue;
    }
    low = std::min(low, v);
    high = std::max(high, v);
  }
  std::string text = nans == array.size() ? "" : Number(low) + " .. " + Number(high);
  if (nans > 0) text += (text.empty() ? "" : ", ") + std::to_string(nans) + " NaN";
  return text;
}

std::string Row(const std::string& a, const std::string& b, const std::string& c,
                const std::string& d) {
  std::ostringstream out;
  const auto column = [&](const std::string& text, int width) {
    out << std::left << std::setw(width) << text << (int(text.size()) < width ? "" : " ");
  };
  out << "  ";
  column(a, 10);
  column(b, 14);
  column(c, 24);
  out << d;
  return out.str();
}

}  // namespace kiln
