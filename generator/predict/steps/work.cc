#include "generator/predict/steps/work.h"

#include <algorithm>
#include <cmath>

namespace kiln {
namespace {

/// Tiles of more registers than there are go through VMEM when they get a name.
constexpr double kRegisters = 64;

double CeilTo(double value, double multiple) {
  return std::max(1.0, std::ceil(value / multiple)) * multiple;
}

/// Counts what one statement does.
class Counter {
 public:
  Counter(const Binding& binding, const Machine& machine, Workload& workload)
      : binding_(binding), machine_(machine), workload_(workload) {}

  Cost Of(const Action& action) {
    Match(
        action, [&](const action::Define& define) { Count(*define.value); },
        [&](const action::Store& store) { Count(store); },
        // The scalar unit's: conditions, loops and what starts copies.
        [](const action::When&) {}, [](const action::For&) {}, [](const action::While&) {},
        [](const action::Assert&) {}, [](const action::Copy&) {}, [](const action::Wait&) {});
    const double cycles =
        std::max({instructions_ / machine_.vector_ops, loads_ / machine_.vector_loads,
                  stores_ / machine_.vector_stores});
    cost_.vpu_seconds = cycles / machine_.clock;
    return cost_;
  }

 private:
  /// A tile that gets a name.
  void Count(const Node& value) {
    Value(value);
    if (IsLarge(value.shape)) stores_ += Packed(value.shape, value.dtype);
  }
  void Count(const action::Store& store) {
    Value(*store.value);
    if (store.mask) Value(*store.mask);
    const bool to_ref = store.ref >= 0;
    const DType dtype = to_ref ? (*binding_.kernel)[RefId(store.ref)].dtype
                               : (*binding_.kernel)[LocalId(store.local)].dtype;
    if (to_ref || IsLarge(store.shape)) stores_ += Packed(store.shape, dtype);
    if (store.mask) Compute(store.shape, dtype, 1);
  }

  double Extent(const Size& size) const {
    return static_cast<double>(Evaluate(size, binding_).value_or(1));
  }
  double Elements(const Shape& shape) const {
    double count = 1;
    for (const Size& size : shape) count *= Extent(size);
    return count;
  }
  /// Registers of 32-bit elements; scalars are the scalar unit's.
  double Registers(const Shape& shape) const {
    if (shape.empty() || Elements(shape) <= 1) return 0;
    const auto lanes = static_cast<double>(machine_.lanes);
    const auto sublanes = static_cast<double>(machine_.sublanes);
    if (shape.size() == 1) return CeilTo(Extent(shape[0]), lanes * sublanes) / (lanes * sublanes);
    double registers = CeilTo(Extent(shape.back()), lanes) / lanes;
    registers *= CeilTo(Extent(shape[shape.size() - 2]), sublanes) / sublanes;
    for (size_t d = 0; d + 2 < shape.size(); ++d) registers *= Extent(shape[d]);
    return registers;
  }
  bool IsLarge(const Shape& shape) const { return Registers(shape) > kRegisters; }
  /// Registers in memory, where narrow elements are packed.
  double Packed(const Shape& shape, DType dtype) const {
    const double bits = IsWeak(dtype) || dtype == DType::kIndex ? 32 : RowOf(dtype).bits;
    return Registers(shape) * bits / 32;
  }

  void Compute(const Shape& shape, DType dtype, double instructions) {
    const bool wide = IsWide(dtype);
    instructions_ += Registers(shape) * instructions * (wide ? 2 : 1);
    if (Registers(shape) > 0) cost_.vector_ops += Elements(shape) * instructions;
  }

  void Value(const NodePtr& node) {
    if (node) Value(*node);
  }
  void Value(const Node& node) {
    switch (node.op) {
      case Op::kConst:
        return;
      case Op::kRead:
        loads_ += Packed(node.shape, node.dtype);
        return;
      case Op::kLocal:
        if (IsLarge(node.shape)) loads_ += Packed(node.shape, node.dtype);
        return;
      case Op::kDot:
        return Product(node);
      default:
        break;
    }
    for (const NodePtr& arg : node.args) Value(*arg);
    const bool reads_more = IsReduction(node.op) || ClassOf(node.op) == OpClass::kOrder;
    const Shape& walked = reads_more ? node.args[0]->shape : node.shape;
    Compute(walked, node.dtype, RowOf(node.op).tpu);
  }

  /// What the matmul unit reads from VMEM by itself, either way round, is no vector work.
  void Side(const Node& node) {
    const Node& of = node.op == Op::kTranspose ? *node.args[0] : node;
    if (of.op != Op::kRead && of.op != Op::kLocal) Value(node);
  }

  void Product(const Node& node) {
    const Node& left = *node.args[0];
    Side(left);
    Side(*node.args[1]);
    const double k = Extent(left.shape.back());
    const double flops = 2 * k * Elements(node.shape);
    cost_.flops += flops;
    // A float of 8 bits is widened to the other side's type.
    const bool widens = IsFloat(left.dtype) && SizeOf(left.dtype) == 1;
    const DType type = widens ? node.args[1]->dtype : left.dtype;
    if (!workload_.dot_type) workload_.dot_type = type;
    const auto rate = machine_.RateOf(type);
    if (!rate) {
      instructions_ += flops / static_cast<double>(machine_.lanes * machine_.sublanes);
      cost_.vector_ops += flops;
      if (std::count(workload_.without_unit.begin(), workload_.without_unit.end(), type) == 0)
        workload_.without_unit.push_back(type);
      return;
    }
    if (workload_.dot_rate == 0) workload_.dot_rate = *rate;
    const auto edge = static_cast<double>(machine_.mxu);
    double padded = 2 * CeilTo(k, edge);
    const size_t rank = node.shape.size();
    for (size_t d = 0; d < rank; ++d) {
      const double extent = Extent(node.shape[d]);
      padded *= d + 2 >= rank ? CeilTo(extent, edge) : extent;
    }
    if (flops > 0) cost_.mxu_seconds += padded / *rate;
  }

  const Binding& binding_;
  const Machine& machine_;
  Workload& workload_;
  Cost cost_;
  double instructions_ = 0, loads_ = 0, stores_ = 0;
};

bool SameEnclosing(const std::vector<Enclosing>& a, const std::vector<Enclosing>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const Enclosing& x, const Enclosing& y) {
                      return x.condition == y.condition && x.negated == y.negated &&
                             x.local == y.local && x.low == y.low && x.high == y.high;
                    });
}

GuardedWork& Find(std::vector<GuardedWork>& guarded, const std::vector<Enclosing>& enclosing) {
  for (GuardedWork& work : guarded) {
    if (SameEnclosing(work.enclosing, enclosing)) return work;
  }
  guarded.push_back({enclosing, {}, {}});
  return guarded.back();
}

}  // namespace

void Cost::Add(const Cost& other, double times) {
  flops += other.flops * times;
  vector_ops += other.vector_ops * times;
  mxu_seconds += other.mxu_seconds * times;
  vpu_seconds += other.vpu_seconds * times;
}

Workload WorkloadOf(const Binding& binding, const Machine& machine) {
  Workload workload;
  const Kernel& kernel = *binding.kernel;
  ForEachStatement(kernel, workload.locals,
                   [&](const Action& action, const std::vector<Enclosing>& enclosing) {
                     const Cost cost = Counter(binding, machine, workload).Of(action);
                     if (cost.none()) return;
                     GuardedWork& work = Find(workload.guarded, enclosing);
                     work.cost.Add(cost);
                     work.lines.push_back(kernel.source->Locate(action.span.begin).line);
                   });
  return workload;
}

}  // namespace kiln
