#include "generator/report/column.h"

namespace kiln {

void Column::Add(int64_t value) {
  const int64_t difference = value - last_;
  last_ = value;
  if (count_ > 0 && difference == difference_) {
    ++count_;
    return;
  }
  AppendRun(text_);
  difference_ = difference;
  count_ = 1;
}

std::string Column::Text() const {
  std::string text = text_;
  AppendRun(text);
  return text;
}

void Column::AppendRun(std::string& text) const {
  if (count_ == 0) return;
  if (!text.empty()) text += ' ';
  text += std::to_string(difference_);
  if (count_ > 1) text += 'x' + std::to_string(count_);
}

std::string ColumnOf(const std::vector<int64_t>& values) {
  Column column;
  for (const int64_t value : values) column.Add(value);
  return column.Text();
}

}  // namespace kiln
