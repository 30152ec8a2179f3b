#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "generator/predict/steps/timeline.h"

/// Steps without their places: what decides how long they take.
namespace kiln {

/// A copy that the body starts, or its wait for one.
struct ManualEvent {
  static constexpr int64_t kOldest = -1;

  bool wait = false;
  int64_t semaphore = 0;  // any number that no other one has
  // Of a start.
  int32_t operand = -1;  // in HBM; of Timeline::operands; -1: from VMEM to VMEM
  bool out = false;
  int64_t bytes = 0;  // that are copied, or waited for; kOldest: those of the oldest copy
  int64_t block = 0;  // not part of the shape

  bool SameShape(const ManualEvent& other) const {
    return wait == other.wait && semaphore == other.semaphore && operand == other.operand &&
           out == other.out && bytes == other.bytes;
  }
};

struct ShapeCopy {
  int32_t operand = -1;  // of Timeline::operands
  int64_t bytes = 0;
  bool operator==(const ShapeCopy&) const = default;
};

/// Steps of one shape take the same time after the same past.
struct StepShape {
  std::vector<ShapeCopy> in;   // of blocks that the step needs and the one before did not
  std::vector<ShapeCopy> out;  // of blocks that the step before it left
  std::vector<ManualEvent> manual;
  int32_t work = 0;  // of the table's works

  bool SameShape(const StepShape& other) const;
};

/// Every shape of a run once.
class ShapeTable {
 public:
  const std::vector<StepShape>& shapes() const { return shapes_; }
  int32_t Intern(const StepShape& shape);

 private:
  std::vector<StepShape> shapes_;
  std::unordered_multimap<uint64_t, int32_t> by_hash_;
};

/// Mixes one more value into a hash.
inline uint64_t Mixed(uint64_t hash, int64_t value) {
  hash = (hash ^ static_cast<uint64_t>(value)) * 0x9E3779B97F4A7C15u;
  return hash ^ (hash >> 29);
}

}  // namespace kiln
