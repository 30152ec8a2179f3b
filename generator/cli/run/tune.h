#pragma once

#include <string>
#include <vector>

#include "generator/cli/run/simulate.h"
#include "generator/tune/tune.h"

namespace kiln::cli {

/// What `kiln tune` is to put into a lock file.
struct LockChange {
  std::string path;
  std::string instance;
  std::string when;
  const Configuration* configuration = nullptr;  // null: nothing is to stand there
  std::string note;
};

// tune_lock.cc
/// Rewrites the lock file with the change. False after an error, which is printed; *what says what
/// happened.
bool WriteLock(const Simulation& call, const LockChange& change, std::string* what);

// tune_report.cc
std::string TuneText(const Simulation& call, const TuneResult& result, const std::string& where,
                     bool measured);
/// "bm=256 bn=512, fixed"
std::string SettingsText(const Configuration& configuration);
std::string GainText(double gain);

}  // namespace kiln::cli
