#include "generator/check/tpu_rules.h"

#include <algorithm>
#include <unordered_set>

#include "generator/check/tpu_memory_rules.h"
#include "generator/text/integer.h"

namespace kiln {
namespace {

// What Pallas' TPU lowering demands of a block, whatever its dtype: rows in eights, lanes in 128s.
// (The native tile of a 16-bit type has 16 rows and of an 8-bit type 32: fewer are accepted, and
// leave a part of each tile empty.)
constexpr int64_t kSublanes = 8;
constexpr int64_t kLanes = 128;
constexpr int64_t kVectorChunk = kSublanes * kLanes;  // of a block of rank 1
constexpr int kMaxBuffers = 2;

bool IsOperand(const Ref& ref) { return ref.role == Role::kInput || ref.role == Role::kOutput; }

/// Bits in VMEM, where a bool takes 32.
int64_t BitsOf(DType dtype) {
  const DTypeRow& row = RowOf(dtype);
  return row.tpu_bits > 0 ? row.tpu_bits : row.bits;
}

/// An extent as far as it is known.
struct Extent {
  Size size;
  std::optional<int64_t> value;
  std::string ToString() const { return value ? std::to_string(*value) : size.ToString(); }
};

Extent ExtentOf(const Size& size, const Binding* binding) {
  auto value = size.Constant();
  if (!value && binding) value = Evaluate(size, *binding);
  return {size, value};
}

/// One operand's block against its array.
class BlockRule {
 public:
  BlockRule(const Ref& ref, const Binding* binding, Diagnostics& diagnostics)
      : ref_(ref), diagnostics_(diagnostics) {
    for (size_t d = 0; d < ref.block.size(); ++d) {
      block_.push_back(ExtentOf(ref.block[d].size, binding));
      array_.push_back(ExtentOf(ref.array[d], binding));
    }
  }

  void Check() const {
    if (ref_.memory == Memory::kAny) return;  // whole, in HBM
    if (ref_.memory == Memory::kSmem && TrivialWindow()) return;
    if (ref_.block.empty()) return CheckRankZero();
    if (!CheckForms()) return;
    if (ref_.block.size() == 1) return CheckVector();
    CheckTile();
  }

 private:
  size_t rank() const { return ref_.block.size(); }
  std::string Name() const { return "`" + ref_.name + "`"; }

  bool IsWhole(size_t d) const {
    return ref_.block[d].kind == BlockDim::Kind::kAll || block_[d].size == array_[d].size ||
           (block_[d].value && block_[d].value == array_[d].value);
  }

  /// The whole array at index 0: nothing to cut.
  bool TrivialWindow() const {
    for (size_t d = 0; d < rank(); ++d) {
      const Node& index = *ref_.block[d].index;
      if (!IsWhole(d) || index.op != Op::kConst || index.int_value != 0) return false;
    }
    return true;
  }

  Span BlockSpan() const {
    Span span;
    for (const BlockDim& dim : ref_.block) {
      if (dim.span.end == 0) continue;
      span = span.end == 0 ? dim.span : Cover(span, dim.span);
    }
    return span.end == 0 ? ref_.span : span;
  }

  void CheckRankZero() const {
    diagnostics_.Error("tpu", ref_.span,
                       Name() + " has rank 0, and a TPU takes blocks of rank 1 and more",
                       "pass it in `scalars`, or as an array of shape [1, 1]");
  }

  /// Block entries that `pallas_call` refuses on a TPU whatever their sizes.
  bool CheckForms() const {
    bool element = false, blocked = false;
    for (const BlockDim& dim : ref_.block) {
      if (dim.kind == BlockDim::Kind::kBounded) {
        diagnostics_.Error(
            "tpu", dim.span, "`pallas_call` takes no `bounded` block: " + Name() + " has one",
            "a bounded block runs only inside `emit_pipeline`; take a fixed block and mask it");
        return false;
      }
      element = element || dim.kind == BlockDim::Kind::kElement;
      blocked = blocked || dim.kind == BlockDim::Kind::kBlocked;
    }
    if (!element || !blocked) return true;
    diagnostics_.Error(
        "tpu", BlockSpan(),
        Name() +
            " mixes `element` with block sizes: on a TPU every dimension of such a block "
            "counts elements, or is squeezed",
        "write `element(…)` in every dimension, and index them in elements");
    return false;
  }

  // Rank 1 --------------------------------------------------------------------------------------

  int64_t SmallestPower() const { return kLanes * std::max<int64_t>(32 / BitsOf(ref_.dtype), 1); }

  bool LegalVector(int64_t block) const {
    const bool power = (block & (block - 1)) == 0;
    return block % kVectorChunk == 0 || (power && block >= SmallestPower());
  }

  void CheckVector() const {
    if (IsWhole(0) || block_[0].size.DividedBy(kVectorChunk)) return;
    if (!block_[0].value || LegalVector(*block_[0].value)) return;
    const int64_t block = *block_[0].value;
    std::vector<int64_t> candidates = {block / kVectorChunk * kVectorChunk,
                                       SaturatingMultiply(block / kVectorChunk + 1, kVectorChunk)};
    for (int64_t power = SmallestPower(); power <= kVectorChunk; power *= 2)
      candidates.push_back(power);
    const int64_t nearest = Nearest(block, candidates, array_[0].value);
    diagnostics_.Error("tpu", BlockSpan(),
                       "a TPU refuses the block of " + std::to_string(block) + " of " + Name() +
                           ": a block of rank 1 is the whole array (" + array_[0].ToString() +
                           "), a multiple of " + std::to_string(kVectorChunk) + ", or for " +
                           std::string(kiln::Name(ref_.dtype)) + " a power of two from " +
                           std::to_string(SmallestPower()) + " on",
                       "the nearest legal block: " + std::to_string(nearest));
  }

  // Rank 2 and more: the last two dimensions ------------------------------------------------------

  bool Legal(size_t d, int64_t unit) const {
    if (IsWhole(d) || block_[d].size.DividedBy(unit)) return true;
    return !block_[d].value || *block_[d].value % unit == 0;
  }

  static int64_t Nearest(int64_t block, const std::vector<int64_t>& candidates,
                         std::optional<int64_t> whole) {
    int64_t best = whole.value_or(0);
    for (const int64_t candidate : candidates) {
      if (candidate <= 0) continue;
      const auto distance = [&](int64_t value) {
        return value > block ? value - block : block - value;
      };
      if (best == 0 || distance(candidate) < distance(best)) best = candidate;
    }
    return best;
  }

  std::string Entry(size_t d, bool mended) const {
    const BlockDim& dim = ref_.block[d];
    if (dim.kind == BlockDim::Kind::kAll) return "all";
    if (dim.kind == BlockDim::Kind::kSqueezed) return "null";
    std::string size = block_[d].ToString();
    const int64_t unit = d + 1 == rank() ? kLanes : kSublanes;
    if (mended && d + 2 >= rank() && !Legal(d, unit)) {
      const int64_t block = *block_[d].value;
      size = std::to_string(
          Nearest(block, {block / unit * unit, SaturatingMultiply(block / unit + 1, unit)},
                  array_[d].value));
    }
    return dim.kind == BlockDim::Kind::kElement ? "element(" + size + ")" : size;
  }

  std::string Block(bool mended) const {
    std::string text;
    for (size_t d = 0; d < rank(); ++d) text += (d ? ", " : "") + Entry(d, mended);
    return text;
  }

  void CheckTile() const {
    const size_t rows = rank() - 2, lanes = rank() - 1;
    if (Legal(rows, kSublanes) && Legal(lanes, kLanes)) return WarnOfHalfTiles(rows);
    bool squeezed = false;
    for (const size_t d : {rows, lanes}) {
      squeezed = squeezed || (ref_.block[d].kind == BlockDim::Kind::kSqueezed &&
                              !Legal(d, d == rows ? kSublanes : kLanes));
    }
    diagnostics_.Error(
        "tpu", BlockSpan(),
        "a TPU refuses the block [" + Block(false) + "] of " + Name() +
            ": its last two dimensions must be multiples of 8 and 128, or the array's own (" +
            array_[rows].ToString() + ", " + array_[lanes].ToString() + ")",
        squeezed ? "`null` counts as 1 here: put that dimension before the last two of the array"
                 : "the nearest legal block: [" + Block(true) + "]");
  }

  /// Accepted, but a part of every native tile stays empty.
  void WarnOfHalfTiles(size_t rows) const {
    const int64_t native = kSublanes * std::max<int64_t>(32 / BitsOf(ref_.dtype), 1);
    if (IsWhole(rows) || !block_[rows].value || *block_[rows].value % native == 0) return;
    const std::string dtype(kiln::Name(ref_.dtype));
    diagnostics_.Warning(
        "tpu", BlockSpan(),
        "the block of " + Name() + " has " + std::to_string(*block_[rows].value) +
            " rows, and a tile of " + dtype + " has " + std::to_string(native) +
            ": a part of it stays empty",
        "multiples of " + std::to_string(native) + " rows fill the tiles of " + dtype);
  }

  const Ref& ref_;
  Diagnostics& diagnostics_;
  std::vector<Extent> block_, array_;
};

// Dtypes and operations ---------------------------------------------------------------------------

void CheckRefType(const Ref& ref, Diagnostics& diagnostics) {
  const DTypeRow& row = RowOf(ref.dtype);
  if (ref.role == Role::kSemaphore || row.tpu_problem.empty()) return;
  diagnostics.Error(
      "tpu", ref.span,
      "`" + ref.name + "` is " + std::string(row.name) + ": " + std::string(row.tpu_problem),
      std::string(row.tpu_hint));
}

void CheckBuffers(const Ref& ref, Diagnostics& diagnostics) {
  if (!IsOperand(ref) || ref.buffers <= kMaxBuffers) return;
  diagnostics.Error("tpu", ref.span,
                    "`" + ref.name + "` has " + std::to_string(ref.buffers) +
                        " buffers: `pallas_call` lowers 1 or 2",
                    "deeper pipelines exist only inside `emit_pipeline`");
}

/// Looks at every expression of the body once.
class OperationRule {
 public:
  explicit OperationRule(Diagnostics& diagnostics) : diagnostics_(diagnostics) {}

  void Check(const Actions& actions) {
    ForEachAction(actions, [this](const Action& action) {
      ForEachExpression(action, [this](const Node& node) { Visit(node); });
    });
  }

 private:
  void Visit(const Node& node) {
    if (!visited_.insert(&node).second) return;
    CheckNode(node);
    for (const NodePtr& arg : node.args) Visit(*arg);
    for (const Subscript& subscript : node.subscripts) Visit(*subscript.start);
  }

  void CheckNode(const Node& node) {
    const DTypeRow& row = RowOf(node.dtype);
    switch (node.op) {
      case Op::kCast:
      case Op::kBitcast:
        if (row.tpu_problem.empty()) return;
        diagnostics_.Error(
            "tpu", node.span,
            "this makes " + std::string(row.name) + ": " + std::string(row.tpu_problem),
            std::string(row.tpu_hint));
        return;
      case Op::kSum:
      case Op::kMean:
      case Op::kReduceMax:
      case Op::kReduceMin:
        return CheckReduction(node, *node.args[0]);
      case Op::kArgmax:
      case Op::kArgmin:  // the same lowering in Pallas
        if (node.args[0]->dtype == DType::kF32 && node.axes.size() == 1) return;
        diagnostics_.Error(
            "tpu", node.span,
            "Mosaic takes " + std::string(Name(node.op)) + " of f32 along one axis only",
            node.axes.size() == 1 ? "cast the value: f32(…)" : "name one axis: axis=0");
        return;
      default:
        if (RowOf(node.op).instead_on_tpu.empty()) return;
        diagnostics_.Error("tpu", node.span, "Mosaic has no rule for " + std::string(Name(node.op)),
                           std::string(RowOf(node.op).instead_on_tpu));
        return;
    }
  }

  void CheckReduction(const Node& node, const Node& reduced) {
    const std::string type(Name(reduced.dtype));
    if (!IsFloat(reduced.dtype) && reduced.dtype != DType::kI32) {
      diagnostics_.Error("tpu", node.span, "Mosaic reduces floats and i32, not " + type,
                         "reduce i32(…) and cast the result back");
    } else if (node.shape.empty() && RowOf(reduced.dtype).bits != 32) {
      diagnostics_.Error("tpu", node.span,
                         "Mosaic makes scalars of tiles of 32 bits an element, not of " + type,
                         "reduce f32(…) and cast the result back");
    }
  }

  Diagnostics& diagnostics_;
  std::unordered_set<const Node*> visited_;
};

}  // namespace

void CheckTpuRules(const Kernel& kernel, const Binding* binding, Diagnostics& diagnostics) {
  for (const Ref& ref : kernel.refs) {
    CheckRefType(ref, diagnostics);
    CheckBuffers(ref, diagnostics);
    if (IsOperand(ref)) BlockRule(ref, binding, diagnostics).Check();
  }
  OperationRule operations(diagnostics);
  operations.Check(kernel.body);
  operations.Check(kernel.epilogue);
  CheckTpuMemoryRules(kernel, diagnostics);
}

}  // namespace kiln
