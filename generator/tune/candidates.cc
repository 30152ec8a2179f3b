#include "generator/tune/candidates.h"

#include <algorithm>
#include <cstdlib>
#include <set>

#include "generator/spec/block_params.h"
#include "generator/spec/pipeline.h"
#include "generator/text/integer.h"

namespace kiln {
namespace {

// What a TPU's registers hold, and whole vectors of any CPU.
constexpr int64_t kLanes = 128;
constexpr int64_t kSublanes = 8;
constexpr int64_t kLargest = 1 << 16;
/// So far from the present size on either side.
constexpr int64_t kFarthest = 16;

/// What uses of a param as a block say about its size.
struct Use {
  int64_t unit = 1;
  int64_t extent = 0;
};

class Uses {
 public:
  Uses(const Spec& spec, const Binding& binding) : spec_(spec), binding_(binding) {
    for (const auto* entries : {&spec.inputs, &spec.outputs}) {
      for (const OperandEntry& entry : *entries) AddOperand(entry);
    }
  }

  /// Null: no block mentions it.
  const Use* Of(const std::string& param) const {
    const auto found = uses_.find(param);
    return found == uses_.end() ? nullptr : &found->second;
  }

 private:
  void AddOperand(const OperandEntry& entry) {
    const int ref = binding_.kernel->FindRef(entry.name.name);
    if (ref < 0) return;  // absent
    const std::vector<int64_t>& extents = binding_.arrays[static_cast<size_t>(ref)];
    for (const OperandSpec& alternative : entry.alternatives) {
      if (!alternative.block) continue;
      const size_t rank = alternative.block->size();
      for (size_t d = 0; d < rank; ++d) {
        const BlockEntry& block = (*alternative.block)[d];
        if (!block.size) continue;
        const int64_t unit = d + 1 == rank ? kLanes : d + 2 == rank ? kSublanes : 1;
        for (const std::string& name : NamesIn(spec_, *block.size)) {
          Use& use = uses_[name];
          use.unit = std::max(use.unit, unit);
          // A batched operand has a dimension more than its block says.
          if (rank == extents.size()) use.extent = std::max(use.extent, extents[d]);
        }
      }
    }
  }

  const Spec& spec_;
  const Binding& binding_;
  std::map<std::string, Use> uses_;
};

std::vector<int64_t> ValuesFor(const Use& use, int64_t present) {
  const int64_t most = std::min(use.extent > 0 ? use.extent : kLargest, kLargest);
  std::set<int64_t> values{present};
  const auto add = [&](int64_t value) {
    if (value >= use.unit && value <= SaturatingMultiply(present, kFarthest) &&
        value >= present / kFarthest)
      values.insert(value);
  };
  int64_t value = 1;
  for (; value < most; value *= 2) add(value);
  // All of the array in one block.
  add((most + use.unit - 1) / use.unit * use.unit);
  return {values.begin(), values.end()};
}

/// Whether every axis whose steps the param decides has blocks of Direct's own.
bool IsOwn(const Spec& spec, const std::string& param, const std::vector<std::string>& own_axes) {
  bool any = false;
  for (const AxisSpec& axis : spec.grid) {
    if (NamesIn(spec, *axis.steps).count(param) == 0) continue;
    if (std::find(own_axes.begin(), own_axes.end(), axis.name.name) == own_axes.end()) return false;
    any = true;
  }
  return any;
}

}  // namespace

std::vector<TunedParam> TunedParams(const Spec& original, const Binding& binding,
                                    const std::vector<std::string>& fixed,
                                    const std::map<std::string, std::vector<int64_t>>& given,
                                    const std::vector<std::string>& own_axes) {
  Diagnostics ignored;
  const Spec spec = ApplyPipeline(original, ignored);
  const Uses uses(spec, binding);
  const std::set<std::string> may_change = BlockParams(spec);
  std::vector<TunedParam> params;
  for (const Param& param : binding.kernel->params) {
    char* end = nullptr;
    const int64_t present = std::strtoll(param.value.c_str(), &end, 10);
    if (*end != '\0' || present < 1) continue;
    if (std::find(fixed.begin(), fixed.end(), param.name) != fixed.end()) continue;
    const auto asked = given.find(param.name);
    const Use* const use = uses.Of(param.name);
    TunedParam tuned{param.name, {}, IsOwn(spec, param.name, own_axes)};
    if (asked != given.end()) {
      std::set<int64_t> values(asked->second.begin(), asked->second.end());
      values.insert(present);
      tuned.values.assign(values.begin(), values.end());
    } else if (given.empty() && use && may_change.count(param.name) > 0) {
      tuned.values = ValuesFor(*use, present);
    }
    if (tuned.values.size() > 1) params.push_back(std::move(tuned));
  }
  return params;
}

}  // namespace kiln
