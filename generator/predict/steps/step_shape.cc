#include "generator/predict/steps/step_shape.h"

#include <algorithm>

namespace kiln {
namespace {

uint64_t HashOf(const StepShape& shape) {
  uint64_t hash = Mixed(0, shape.work);
  for (const ShapeCopy& copy : shape.in) hash = Mixed(Mixed(hash, copy.operand), copy.bytes);
  hash = Mixed(hash, -1);
  for (const ShapeCopy& copy : shape.out) hash = Mixed(Mixed(hash, copy.operand), copy.bytes);
  for (const ManualEvent& event : shape.manual)
    hash = Mixed(Mixed(Mixed(hash, event.wait), event.semaphore), event.bytes);
  return hash;
}

}  // namespace

bool StepShape::SameShape(const StepShape& other) const {
  return work == other.work && in == other.in && out == other.out &&
         std::equal(manual.begin(), manual.end(), other.manual.begin(), other.manual.end(),
                    [](const ManualEvent& a, const ManualEvent& b) { return a.SameShape(b); });
}

int32_t ShapeTable::Intern(const StepShape& shape) {
  const uint64_t hash = HashOf(shape);
  const auto [begin, end] = by_hash_.equal_range(hash);
  for (auto found = begin; found != end; ++found) {
    if (shapes_[static_cast<size_t>(found->second)].SameShape(shape)) return found->second;
  }
  const auto number = static_cast<int32_t>(shapes_.size());
  shapes_.push_back(shape);
  by_hash_.emplace(hash, number);
  return number;
}

}  // namespace kiln
