#include "generator/elaborate/elaborate.h"

/// Two operands become one dtype and one shape; what is not provable becomes an obligation.
namespace kiln {

/// "write f32(i)", in the spec's own spelling of the expression.
std::string Elaborator::CastHint(const NodePtr& node, DType dtype) const {
  return "write " + std::string(Name(dtype)) + "(" + Spelling(*node) + ")";
}

std::string Elaborator::Spelling(const Node& node) const {
  const std::string& text = spec_.source->text();
  const Span span = node.span;
  if (span.end <= span.begin || span.end > text.size()) return ToString(node, kernel_);
  std::string spelling = text.substr(span.begin, span.end - span.begin);
  const bool whole = spelling.size() <= 60 && spelling.find('\n') == std::string::npos;
  return whole ? spelling : "…";
}

NodePtr Elaborator::Decide(const NodePtr& node) {
  if (!node || !IsWeak(node->dtype)) return node;
  std::string why;
  NodePtr decided = CoerceDefault(node, why);
  if (!decided) Error("type", node->span, why, "nothing decides its type; convert it: i64(…)");
  return decided;
}

bool Elaborator::Unify(NodePtr& a, NodePtr& b, const char* what, Span span) {
  if (a->dtype == b->dtype) return true;
  std::string why;
  if (IsWeak(a->dtype) && IsWeak(b->dtype)) {
    NodePtr& integer = a->dtype == DType::kWeakInt ? a : b;
    if (NodePtr coerced = Coerce(integer, DType::kWeakFloat, why)) {
      integer = coerced;
      return true;
    }
    Error("type", span, "`" + std::string(what) + "` mixes an integer with a float",
          CastHint(integer, DType::kF32));
    return false;
  }
  if (IsWeak(a->dtype) || IsWeak(b->dtype)) {
    NodePtr& weak = IsWeak(a->dtype) ? a : b;
    const DType dtype = (IsWeak(a->dtype) ? b : a)->dtype;
    if (NodePtr coerced = Coerce(weak, dtype, why)) {
      weak = coerced;
      return true;
    }
    std::string hint;
    if (dtype == DType::kBool)
      hint = "compare with true or false, or convert the bool: i32(…)";
    else if (IsFloat(weak->dtype) && !IsFloat(dtype))
      hint = CastHint(&weak == &a ? b : a, DType::kF32);
    else if (why.find("fit") == std::string::npos)
      hint = CastHint(weak, dtype);
    Error("type", weak->span,
          "`" + std::string(what) + "` with " + std::string(Name(dtype)) + ": " + why, hint);
    return false;
  }
  const bool left_wider = IsFloat(a->dtype) || RowOf(b->dtype).bits < RowOf(a->dtype).bits;
  const NodePtr& narrow = left_wider ? b : a;
  Error("type", span, "`" + std::string(what) + "` mixes " + TypeName(a) + " and " + TypeName(b),
        CastHint(narrow, (left_wider ? a : b)->dtype));
  return false;
}

std::optional<Shape> Elaborator::Broadcast(const Shape& a, const Shape& b, const std::string& what,
                                           Span span) {
  const size_t rank = std::max(a.size(), b.size());
  Shape out(rank);
  for (size_t d = 0; d < rank; ++d) {
    const bool in_a = d + a.size() >= rank;
    const bool in_b = d + b.size() >= rank;
    if (!in_a || !in_b) {
      out[d] = in_a ? a[d + a.size() - rank] : b[d + b.size() - rank];
      continue;
    }
    const Size& left = a[d + a.size() - rank];
    const Size& right = b[d + b.size() - rank];
    bool differ = false, unproved = false;
    out[d] = BroadcastSize(left, right, differ, unproved);
    std::string message = what + " of shapes " + kiln::ToString(a) + " and " + kiln::ToString(b) +
                          ", which differ in dimension " + std::to_string(d);
    if (a.size() != b.size())
      message += " (the last ones are aligned; expand(x, 1) adds one behind)";
    if (differ) {
      Error("shape", span, message, "numpy broadcasting: equal extents, or one of them 1");
      return std::nullopt;
    }
    if (unproved) Oblige(left, right, "shape", span, message);
  }
  return out;
}

void Elaborator::Oblige(Size left, Size right, RuleLabel rule, Span span, std::string message,
                        Obligation::Kind kind) {
  for (const Obligation& o : kernel_.obligations) {
    if (o.kind == kind && o.left == left && o.right == right && o.span.begin == span.begin) return;
  }
  kernel_.obligations.push_back(
      {kind, std::move(left), std::move(right), rule, span, std::move(message)});
}

bool Elaborator::RequireEqual(const Size& a, const Size& b, Span span, const std::string& message) {
  if (a == b) return true;
  if ((a - b).Constant()) {
    Error("shape", span, message);
    return false;
  }
  Oblige(a, b, "shape", span, message);
  return true;
}

bool Elaborator::RequireAtLeast(const Size& a, const Size& b, Span span,
                                const std::string& message) {
  const auto more = (a - b).Constant();
  if (!more) {
    Oblige(a, b, "shape", span, message, Obligation::Kind::kAtLeast);
  } else if (*more < 0) {
    Error("shape", span, message);
  }
  return !more || *more >= 0;
}

NodePtr Elaborator::Select(NodePtr condition, NodePtr a, NodePtr b, Op op, const Setting& setting,
                           Span span) {
  if (setting.index) {
    if (a->dtype == DType::kBool && b->dtype == DType::kIndex) a = Cast(a, DType::kIndex, a->span);
    if (b->dtype == DType::kBool && a->dtype == DType::kIndex) b = Cast(b, DType::kIndex, b->span);
  }
  const char* what = op == Op::kIf ? "if … else" : "where";
  if (!Unify(a, b, what, span)) return nullptr;
  auto shape = Broadcast(a->shape, b->shape, what, span);
  if (shape) shape = Broadcast(condition->shape, *shape, what, span);
  if (!shape) return nullptr;
  Node node;
  node.op = op;
  node.dtype = a->dtype;
  node.shape = *shape;
  node.span = span;
  node.args = {condition, a, b};
  return Fold(std::move(node));
}

NodePtr Elaborator::ConvertTo(NodePtr node, DType dtype, const std::string& target, Span span) {
  if (node->dtype == dtype) return node;
  const std::string to(Name(dtype));
  if (IsWeak(node->dtype)) {
    std::string why;
    if (NodePtr coerced = Coerce(node, dtype, why)) return coerced;
    return Error("type", span, "into " + target + " (" + to + "): " + why,
                 why.find("fit") == std::string::npos ? CastHint(node, dtype) : "");
  }
  return Error("type", span,
               "a value of type " + TypeName(node) + " into " + target + " (" + to + ")",
               CastHint(node, dtype));
}

}  // namespace kiln
