#pragma once

#include <string>

namespace kiln {

/// What a stage is going to take of this machine. Estimates err to the low side: what is refused
/// because of one would not have fitted.
struct Demand {
  double bytes = 0;    // held at a time
  double seconds = 0;  // of this CPU
};

/// What a stage may take.
struct Limits {
  double bytes = 0;
  double seconds = 0;

  bool Allow(const Demand& demand) const {
    return demand.bytes <= bytes && demand.seconds <= seconds;
  }
};

/// Half of the machine's memory, but not more than 8 GiB; a minute.
Limits DefaultLimits();

/// "64GiB", "2h" or both as in "64GiB,2h" over what `limits` holds. False when it says neither.
bool ParseLimits(const std::string& text, Limits& limits);

/// "40 GiB", "1.5 MiB"; "3 min", "12 s": two digits, as estimates have no more.
std::string RoughBytes(double bytes);
std::string RoughSeconds(double seconds);

/// The value of --limit under which `demand` would pass: "64GiB", "4min", "64GiB,4min"; empty when
/// that is more than any machine has, or anybody waits for.
std::string LimitFor(const Demand& demand, const Limits& limits);

}  // namespace kiln
