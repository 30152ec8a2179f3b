#include "generator/system/limits.h"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <sstream>

namespace kiln {
namespace {

struct Unit {
  const char* name;
  double size;
};
constexpr Unit kBytes[] = {{"B", 1},        {"KiB", 0x1p10}, {"MiB", 0x1p20}, {"GiB", 0x1p30},
                           {"TiB", 0x1p40}, {"PiB", 0x1p50}, {"EiB", 0x1p60}};
constexpr Unit kSeconds[] = {{"s", 1}, {"min", 60}, {"h", 3600}};
constexpr Unit kYears = {"years", 365.25 * 24 * 3600};

/// The largest unit of which there is at least one.
template <typename Units>
const Unit& UnitOf(double value, const Units& units) {
  const Unit* best = std::begin(units);
  for (const Unit& unit : units) {
    if (value >= unit.size) best = &unit;
  }
  return *best;
}

std::string TwoDigits(double value) {
  char text[32];
  if (value >= 1e6)
    std::snprintf(text, sizeof text, "%.1e", value);
  else
    std::snprintf(text, sizeof text, "%.*f", value < 10 && value != std::floor(value), value);
  return text;
}

template <typename Units>
bool Parse(const std::string& word, const Units& units, double& out) {
  char* end = nullptr;
  const double value = std::strtod(word.c_str(), &end);
  if (end == word.c_str() || !(value > 0) || !std::isfinite(value)) return false;
  for (const Unit& unit : units) {
    if (end != std::string(unit.name)) continue;
    out = value * unit.size;
    return true;
  }
  return false;
}

/// A round number that leaves some room: a power of two of the unit.
std::string Room(double value, const Unit& unit) {
  const double count = std::exp2(std::ceil(std::log2(std::max(value * 1.2 / unit.size, 1.0))));
  return TwoDigits(count) + unit.name;
}

}  // namespace

Limits DefaultLimits() {
  const double physical =
      static_cast<double>(sysconf(_SC_PHYS_PAGES)) * static_cast<double>(sysconf(_SC_PAGE_SIZE));
  return {std::min(physical / 2, 8 * 0x1p30), 60};
}

bool ParseLimits(const std::string& text, Limits& limits) {
  std::istringstream words(text + ",");
  for (std::string word; std::getline(words, word, ',');) {
    if (!Parse(word, kBytes, limits.bytes) && !Parse(word, kSeconds, limits.seconds)) return false;
  }
  return true;
}

std::string RoughBytes(double bytes) {
  const Unit& unit = UnitOf(bytes, kBytes);
  return TwoDigits(bytes / unit.size) + " " + unit.name;
}

std::string RoughSeconds(double seconds) {
  const Unit& unit = seconds >= kYears.size ? kYears : UnitOf(seconds, kSeconds);
  return TwoDigits(seconds / unit.size) + " " + unit.name;
}

std::string LimitFor(const Demand& demand, const Limits& limits) {
  constexpr double kNoMachine = 0x1p50, kNobody = 30 * 24 * 3600;
  if (demand.bytes > kNoMachine || demand.seconds > kNobody) return "";
  std::string text;
  if (demand.bytes > limits.bytes) text = Room(demand.bytes, UnitOf(demand.bytes, kBytes));
  if (demand.seconds > limits.seconds)
    text += (text.empty() ? "" : ",") + Room(demand.seconds, UnitOf(demand.seconds, kSeconds));
  return text;
}

}  // namespace kiln
