#pragma once

#include <random>

#include "generator/check/grid/check_grid.h"
#include "tests/ir/kernel_builder.h"

/// Bound kernels by hand, and random expressions over their grids.
namespace kiln::build {

struct GridBuilder : KernelBuilder {
  Binding binding;
  std::vector<std::unique_ptr<Array>> host;

  void AddGrid(const std::string& name, int64_t steps, bool parallel = false) {
    AddAxis(name, Int(steps));
    kernel.axes.back().parallel = parallel;
    binding.steps.push_back(steps);
  }

  int AddHost(const std::string& name, std::vector<int64_t> values) {
    const auto count = static_cast<int64_t>(values.size());
    const int ref = AddBound(name, Role::kPrefetch, {count});
    host.push_back(std::make_unique<Array>(Ints({count}, values)));
    binding.host.back() = host.back().get();
    return ref;
  }

  /// Every ref must be added by these functions: they keep the binding in step.
  int AddBound(const std::string& name, Role role, const std::vector<int64_t>& extents) {
    std::vector<NodePtr> shape;
    for (const int64_t extent : extents) shape.push_back(Int(extent));
    const int ref = AddRef(name, role, role == Role::kPrefetch ? DType::kI32 : DType::kF32, shape);
    binding.arrays.push_back(extents);
    binding.views.push_back(extents);
    binding.host.push_back(nullptr);
    return ref;
  }

  /// `null` entries of `index` are whole dimensions.
  int AddOperand(const std::string& name, Role role, const std::vector<int64_t>& extents,
                 const std::vector<int64_t>& sizes, const std::vector<NodePtr>& index) {
    const int at = AddBound(name, role, extents);
    Ref& ref = kernel.refs[static_cast<size_t>(at)];
    for (size_t d = 0; d < extents.size(); ++d) {
      BlockDim dim;
      dim.kind = index[d] ? BlockDim::Kind::kBlocked : BlockDim::Kind::kAll;
      dim.size = index[d] ? sizes[d] : extents[d];
      dim.index = index[d] ? index[d] : Int(0);
      ref.block.push_back(dim);
      ref.view_dims.push_back(d);
      ref.view[d] = dim.size;
      binding.views.back()[d] = index[d] ? sizes[d] : extents[d];
    }
    return at;
  }

  Ref& ref(int index) { return kernel.refs[static_cast<size_t>(index)]; }

  /// A whole store under a condition, or always.
  void AddStore(int ref, NodePtr condition = nullptr) {
    action::Store store;
    store.ref = ref;
    store.value = Float(0);
    if (!condition) {
      kernel.body.push_back({{}, store});
      return;
    }
    kernel.body.push_back({{}, action::When{std::move(condition), {{{}, store}}, {}}});
  }

  Diagnostics Check(GridCheckOptions options = {}) {
    binding.kernel = &kernel;
    Diagnostics diagnostics;
    CheckGrid(binding, options, diagnostics);
    return diagnostics;
  }
};

/// Random integer and bool expressions over `axes` axes and the prefetch arrays `reads`.
class RandomNodes {
 public:
  RandomNodes(uint32_t seed, int axes, std::vector<int> reads)
      : random_(seed), axes_(axes), reads_(std::move(reads)) {}

  int Below(int n) { return static_cast<int>(random_() % static_cast<uint32_t>(n)); }

  NodePtr Integer(int depth, DType dtype = DType::kIndex) {
    if (depth == 0) return Leaf(dtype);
    const auto some = [&] { return Integer(depth - 1, dtype); };
    static constexpr Op kBinary[] = {Op::kAdd,     Op::kSub, Op::kMul, Op::kFloorDiv, Op::kMod,
                                     Op::kCeilDiv, Op::kMin, Op::kMax, Op::kRem,      Op::kQuot,
                                     Op::kBitAnd,  Op::kShl, Op::kShr};
    switch (Below(10)) {
      case 0:
        return Node_(Op::kWhere, dtype, {Condition(depth - 1), some(), some()});
      case 1:
        return Node_(Op::kIf, dtype, {Condition(depth - 1), some(), some()});
      case 2:
        return Node_(Below(2) ? Op::kNeg : Op::kAbs, dtype, {some()});
      case 3:
        if (!reads_.empty()) {
          return Read(reads_[static_cast<size_t>(Below(static_cast<int>(reads_.size())))],
                      {Integer(depth - 1)}, dtype);
        }
        [[fallthrough]];
      default:
        return Node_(kBinary[Below(12)], dtype, {some(), some()});
    }
  }

  NodePtr Condition(int depth) {
    const int axis = Below(axes_);
    if (depth == 0) {
      return Node_(Below(2) ? Op::kFirstStep : Op::kLastStep, DType::kBool, {}, axis);
    }
    const auto some = [&] { return Condition(depth - 1); };
    const auto compare = static_cast<Op>(static_cast<int>(Op::kLt) + Below(6));
    switch (Below(5)) {
      case 0:
        return Node_(Op::kAnd, DType::kBool, {some(), some()});
      case 1:
        return Node_(Op::kOr, DType::kBool, {some(), some()});
      case 2:
        return Node_(Op::kNot, DType::kBool, {some()});
      default:
        return Node_(compare, DType::kBool, {Integer(depth - 1), Integer(depth - 1)});
    }
  }

 private:
  NodePtr Leaf(DType dtype) {
    switch (Below(4)) {
      case 0:
        return Int(Below(5) - 1, dtype);
      case 1:
        return Node_(Op::kSteps, dtype, {}, Below(axes_));
      default:
        return Node_(Op::kAxis, dtype, {}, Below(axes_));
    }
  }

  std::mt19937 random_;
  int axes_;
  std::vector<int> reads_;
};

/// Every point of a grid, in its order.
inline std::vector<std::vector<int64_t>> AllPoints(const std::vector<int64_t>& steps) {
  std::vector<std::vector<int64_t>> points = {{}};
  for (const int64_t n : steps) {
    std::vector<std::vector<int64_t>> longer;
    for (const auto& point : points) {
      for (int64_t i = 0; i < n; ++i) {
        longer.push_back(point);
        longer.back().push_back(i);
      }
    }
    points = std::move(longer);
  }
  return points;
}

}  // namespace kiln::build
