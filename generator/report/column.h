#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace kiln {

/// Numbers as a page unpacks them: each as its difference to the one before, and a difference that
/// repeats with a count. 5 6 7 8 5 is "5 1x3 -3". Counters, blocks and times of regular steps are
/// mostly such runs.
class Column {
 public:
  void Add(int64_t value);
  /// Ends the last run.
  std::string Text() const;

 private:
  void AppendRun(std::string& text) const;

  std::string text_;
  int64_t last_ = 0;
  int64_t difference_ = 0;
  int64_t count_ = 0;  // how often it repeats, at the end
};

std::string ColumnOf(const std::vector<int64_t>& values);

}  // namespace kiln
