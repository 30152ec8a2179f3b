#pragma once

#include <optional>
#include <string>
#include <vector>

namespace kiln {

/// What was measured, by everything it depends on: kept where compiled kernels are, for good.
class Times {
 public:
  /// `folder` of the cache; empty: nothing is kept.
  explicit Times(std::string folder) : folder_(std::move(folder)) {}

  static std::string KeyOf(const std::vector<std::string>& parts);

  std::optional<double> Find(const std::string& key) const;
  void Keep(const std::string& key, double value) const;

 private:
  std::string folder_;
};

}  // namespace kiln
