#include "generator/native/others.h"

#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <string>

namespace kiln {
namespace {

double Now() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

/// Seconds of all cores in which they did something, or were taken away by the host; negative: not
/// known.
double BusySeconds() {
  std::ifstream in("/proc/stat");
  std::string cpu;
  double user = 0, nice = 0, system = 0, idle = 0, io = 0, irq = 0, soft_irq = 0, stolen = 0;
  if (!(in >> cpu >> user >> nice >> system >> idle >> io >> irq >> soft_irq >> stolen)) return -1;
  const auto per_second = static_cast<double>(sysconf(_SC_CLK_TCK));
  return (user + nice + system + irq + soft_irq + stolen) / per_second;
}

double SecondsOf(int whom) {
  rusage usage{};
  getrusage(whom, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

double OwnSeconds() { return SecondsOf(RUSAGE_SELF) + SecondsOf(RUSAGE_CHILDREN); }

}  // namespace

Others::Others() : seconds_(Now()), busy_(BusySeconds()), own_(OwnSeconds()) {}

double Others::Cores() const {
  const double seconds = Now() - seconds_;
  if (busy_ < 0 || seconds <= 0) return -1;
  return std::max((BusySeconds() - busy_ - (OwnSeconds() - own_)) / seconds, 0.0);
}

std::string OthersText(double cores_of_others) {
  if (cores_of_others < 0) return "what other programs did is not known";
  char text[32];
  std::snprintf(text, sizeof text, "%.1f", cores_of_others);
  return std::string("other programs used ") + text + " of " +
         std::to_string(sysconf(_SC_NPROCESSORS_ONLN)) + " cores";
}

bool IsBusy(double cores_of_others) {
  constexpr double kShare = 0.25;
  return cores_of_others > kShare * static_cast<double>(sysconf(_SC_NPROCESSORS_ONLN));
}

}  // namespace kiln
