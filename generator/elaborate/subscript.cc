#include "generator/elaborate/elaborate.h"
#include "generator/ir/tile_node.h"
#include "generator/syntax/foreign.h"

namespace kiln {
namespace {

/// How many dimensions the entries of a subscript use up; -1 for more than one ellipsis.
int CountEntries(const Expr& expr, bool& ellipsis) {
  int count = 0;
  ellipsis = false;
  for (size_t i = 1; i < expr.args.size(); ++i) {
    if (expr.args[i]->kind != Expr::Kind::kEllipsis) {
      ++count;
    } else if (ellipsis) {
      return -1;
    } else {
      ellipsis = true;
    }
  }
  return count;
}

bool IsDynamicSlice(const Expr& expr) {
  return expr.kind == Expr::Kind::kCall && expr.name == "ds";
}

}  // namespace

NodePtr Elaborator::ElaborateSubscript(const Expr& expr, const Setting& setting) {
  // A ref is subscripted in setting: its window is read, never the whole of it. An index map reads
  // a prefetch array this way, so the ref itself is looked up as the body would.
  const Expr& base = *expr.args[0];
  NodePtr x;
  if (const Symbol* symbol = RefNamed(base)) {
    x = ReadRef(symbol->index, base.span, setting);
  } else {
    Setting tiles = setting;
    if (setting.body) tiles.index = false;
    x = Elaborate(base, tiles);
    if (x && !x->shape.empty()) x = Decide(x);
  }
  if (!x) return nullptr;
  const std::string what = base.kind == Expr::Kind::kName ? "`" + base.name + "`" : "the value";
  auto window = ElaborateSubscripts(expr, x->shape, what, setting);
  if (!window) return nullptr;
  Node node;
  const bool read = x->op == Op::kRead && x->subscripts.empty();
  node.op = read ? Op::kRead : Op::kSlice;
  if (read)
    node.index = x->index;
  else
    node.args = {x};
  node.dtype = x->dtype;
  node.shape = window->shape;
  node.subscripts = std::move(window->subscripts);
  node.span = expr.span;
  if (IsWeak(node.dtype)) return Error("shape", expr.span, "a scalar has no elements to pick");
  return std::make_shared<const Node>(std::move(node));
}

std::vector<Subscript> Elaborator::FullSubscripts(const Shape& shape, Span span) {
  std::vector<Subscript> out;
  for (const Size& size : shape) {
    out.push_back({span, true, MakeInt(0, DType::kIndex, span), size, 1, nullptr});
  }
  return out;
}

std::optional<Elaborator::Subscripted> Elaborator::ElaborateSubscripts(const Expr& expr,
                                                                       const Shape& shape,
                                                                       const std::string& what,
                                                                       const Setting& setting) {
  Setting inside = setting;  // may mention what the setting may, in 64-bit arithmetic
  inside.index = true;
  if (setting.body) inside.name = kSubscriptSetting.name;
  bool ellipsis = false;
  const int count = CountEntries(expr, ellipsis);
  const int rank = static_cast<int>(shape.size());
  if (count < 0 || count > rank) {
    Error("shape", expr.span,
          count < 0 ? "more than one ... in a subscript"
                    : std::to_string(count) + " subscripts for " + what + ", which has rank " +
                          std::to_string(rank));
    return std::nullopt;
  }
  Subscripted out;
  bool ok = true;
  size_t d = 0;
  const auto whole = [&](Span span) {
    out.subscripts.push_back({span, true, MakeInt(0, DType::kIndex, span), shape[d], 1, nullptr});
    out.shape.push_back(shape[d]);
    ++d;
  };
  for (size_t i = 1; i < expr.args.size(); ++i) {
    const Expr& entry = *expr.args[i];
    if (entry.kind == Expr::Kind::kEllipsis) {
      for (int left = rank - count; left > 0; --left) whole(entry.span);
      continue;
    }
    Subscript subscript;
    if (!ElaborateEntry(entry, shape[d], what, static_cast<int>(d), inside, subscript)) {
      ok = false;
      out.shape.push_back(1);
      ++d;
      continue;
    }
    if (subscript.range) out.shape.push_back(subscript.size);
    out.subscripts.push_back(std::move(subscript));
    ++d;
  }
  while (d < shape.size()) whole(expr.span);
  if (!ok) return std::nullopt;
  return out;
}

/// One entry: a point, `a:b`, or `ds(start, size)`.
bool Elaborator::ElaborateEntry(const Expr& entry, const Size& extent, const std::string& what,
                                int dimension, const Setting& setting, Subscript& out) {
  out.span = entry.span;
  const std::string where = what + " (dimension " + std::to_string(dimension) + ")";
  if (IsDynamicSlice(entry)) {
    const Expr* stride = KeywordValue(entry, "stride");
    const Expr* most = KeywordValue(entry, "most");
    if (entry.args.size() != 2 || entry.keywords.size() > (stride || most ? 1 : 0)) {
      Error("syntax", entry.span, "ds takes a start and a size: ds(start, size)",
            "with a stride: ds(start, size, stride=2); of a size known at run time: "
            "ds(start, size, most=8)");
      return false;
    }
    out.range = true;
    if (most) return ElaborateCount(entry, *most, where, setting, out);
    out.start = ElaborateIndex(*entry.args[0], setting);
    const auto size = ElaborateSize(*entry.args[1]);
    const bool strides = ElaborateStride(stride, out);
    if (!out.start || !size || !strides) return false;
    out.size = *size;
    return CheckWindow(out, extent, where);
  }
  if (entry.kind != Expr::Kind::kSlice) {
    out.start = ElaborateIndex(entry, setting);
    if (!out.start) return false;
    out.size = 1;
    return CheckWindow(out, extent, where);
  }
  out.range = true;
  out.start = entry.args[0] ? ElaborateIndex(*entry.args[0], setting)
                            : MakeInt(0, DType::kIndex, entry.span);
  NodePtr end = entry.args[1] ? ElaborateIndex(*entry.args[1], setting) : nullptr;
  if (!out.start || (entry.args[1] && !end)) return false;
  for (const NodePtr& bound : {out.start, end}) {
    if (const auto value = bound ? ConstInt(bound) : std::nullopt; value && *value < 0) {
      Error("index-range", entry.span,
            "negative slice bound " + std::to_string(*value) + " of " + where,
            "count from the start: " + (extent + *value).ToString());
      return false;
    }
  }
  out.size = (end ? SizeOf(end, kernel_) : extent) - SizeOf(out.start, kernel_);
  bool varies = false;
  out.size.ForEachAtom([&](const Node& atom) { varies = varies || !IsSizeNode(atom); });
  if (varies) {
    Error("shape", entry.span, "the length of the slice of " + where + " is not fixed by sizes",
          "write ds(start, length) with a length of params and dims");
    return false;
  }
  if (!ElaborateStride(entry.args[2].get(), out)) return false;
  if (out.stride > 1) out.size = EveryOther(out.size, out.stride);
  return CheckWindow(out, extent, where);
}

/// `ds(start, size, most=n)`
bool Elaborator::ElaborateCount(const Expr& entry, const Expr& most, const std::string& where,
                                const Setting& setting, Subscript& out) {
  if (!setting.most) {
    Error("shape", entry.span,
          "a value has a fixed shape: `most=` stands in copies and waits alone",
          "read all that there may be, and choose by a mask: iota([8]) < n");
    return false;
  }
  Setting inside = setting;
  inside.most = false;
  out.start = ElaborateIndex(*entry.args[0], inside);
  out.count = ElaborateIndex(*entry.args[1], inside);
  const auto size = ElaborateSize(most);
  if (!out.start || !out.count || !size) return false;
  out.size = *size;
  const auto start = ConstInt(out.start), count = ConstInt(out.count), limit = size->Constant();
  if (start && *start < 0) return CheckWindow(out, out.size, where);
  if (!count || !limit || (*count >= 0 && *count <= *limit)) return true;
  Error("index-range", entry.args[1]->span,
        "the size " + std::to_string(*count) + " of a slice of " + where +
            " is out of range: most=" + std::to_string(*limit));
  return false;
}

/// `expr`: null where none is written.
bool Elaborator::ElaborateStride(const Expr* expr, Subscript& out) {
  if (!expr) return true;
  const auto stride = ElaborateStaticInt(*expr, "a stride");
  if (!stride) return false;
  constexpr int64_t kMost = int64_t{1} << 31;
  if (*stride < 1 || *stride > kMost) {
    Error("shape", expr->span, "a stride of " + std::to_string(*stride) + "; strides begin at 1",
          *stride < 0 ? HintForForeign("flip") : "");
    return false;
  }
  out.stride = *stride;
  return true;
}

/// How many of `length` elements a stride visits.
Size Elaborator::EveryOther(const Size& length, int64_t stride) const {
  if (const auto count = length.Constant())
    return *count < 0 ? *count : (*count + stride - 1) / stride;
  Node quotient = TileNode(Op::kCeilDiv, DType::kIndex, {}, {},
                           {length.ToNode(), MakeInt(stride, DType::kIndex, {})});
  return SizeOf(Share(std::move(quotient)), kernel_);
}

/// Whether a node is made of dims alone.
bool Elaborator::IsSizeNode(const Node& node) {
  if (node.op == Op::kAxis || node.op == Op::kLocal || node.op == Op::kRead) return false;
  for (const NodePtr& arg : node.args) {
    if (!IsSizeNode(*arg)) return false;
  }
  return true;
}

/// What is already decided of 0 <= start and start + size <= extent; the rest is checked with
/// sizes, over the steps that reach it.
bool Elaborator::CheckWindow(const Subscript& window, const Size& extent,
                             const std::string& where) {
  const auto start = ConstInt(window.start);
  const Size end = SizeOf(window.start, kernel_) + ReachOf(window);
  const auto slack = (extent - end).Constant();
  if ((start && *start < 0) || (slack && *slack < 0)) {
    const std::string strided = window.stride == 1 ? "" : ":" + std::to_string(window.stride);
    Error("index-range", window.span,
          (window.range ? "the slice [" + SizeOf(window.start, kernel_).ToString() + ":" +
                              end.ToString() + strided + "] of "
                        : "the subscript " + SizeOf(window.start, kernel_).ToString() + " of ") +
              where + " is out of range: its extent is " + extent.ToString(),
          start && *start < 0 && !window.range
              ? "count from the start: " + (extent + *start).ToString()
              : "");
    return false;
  }
  if (const auto size = window.size.Constant(); size && *size < 0) {
    Error("shape", window.span, "the slice of " + where + " ends before it starts");
    return false;
  }
  return true;
}

}  // namespace kiln
