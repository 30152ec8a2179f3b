#include "generator/elaborate/elaborate.h"
#include "generator/ir/tile_node.h"

/// The same bits as another dtype. Between widths it is written as slices, shifts and casts, so
/// that no stage behind this one knows of it: rows that are side by side in a packed register of a
/// TPU are the parts of one wider element, the first of them its low bits.
namespace kiln {
namespace {

int Width(DType dtype) { return RowOf(dtype).bits; }

/// The integer that holds such bits.
DType BitsOf(DType dtype) {
  switch (Width(dtype)) {
    case 4:
      return DType::kU4;
    case 8:
      return DType::kU8;
    case 16:
      return DType::kU16;
    case 32:
      return DType::kU32;
    default:
      return DType::kI64;
  }
}

NodePtr SameWidth(const NodePtr& x, DType dtype, Span span) {
  if (x->dtype == dtype) return x;
  return Share(TileNode(Op::kBitcast, dtype, x->shape, span, {x}));
}

/// Rows k, k + ratio …
NodePtr EachRow(const NodePtr& x, int64_t k, int64_t ratio, const Size& count, Span span) {
  Node rows = TileNode(Op::kSlice, x->dtype, x->shape, span, {x});
  const size_t axis = x->shape.size() - 2;
  rows.shape[axis] = count;
  for (size_t d = 0; d < x->shape.size(); ++d) {
    const bool strided = d == axis;
    rows.subscripts.push_back({span, true, MakeInt(strided ? k : 0, DType::kIndex, span),
                               rows.shape[d], strided ? ratio : 1, nullptr});
  }
  return Share(std::move(rows));
}

}  // namespace

NodePtr Elaborator::CallBitcast(const Expr& expr, const Operation& f, const Setting& setting) {
  const Expr& type = *expr.args[0];
  const auto dtype = type.kind == Expr::Kind::kName ? DTypeNamed(type.name) : std::nullopt;
  if (!dtype) {
    return Error("type", type.span, "the first argument of `bitcast` is a dtype",
                 "write " + std::string(f.signature));
  }
  NodePtr x = Decide(Elaborate(*expr.args[1], setting));
  if (!x) return nullptr;
  const std::string what = "bitcast of " + TypeName(x) + " to " + std::string(Name(*dtype));
  if (x->dtype == DType::kBool || *dtype == DType::kBool)
    return Error("type", expr.span, what + ": bools have no bits of their own", "compare with 0");
  if (Width(x->dtype) == Width(*dtype)) {
    NodePtr cast = Unary(f.op, x, setting, expr.span);
    auto copy = std::make_shared<Node>(*cast);
    copy->dtype = *dtype;
    return copy;
  }
  if (x->shape.size() < 2) {
    return Error("type", expr.span, what + ": the widths differ",
                 "rows of two or more dimensions are packed into wider ones");
  }
  return Width(x->dtype) < Width(*dtype) ? PackRows(x, *dtype, what, expr.span)
                                         : UnpackRows(x, *dtype, expr.span);
}

/// Neighbouring rows become the parts of one.
NodePtr Elaborator::PackRows(const NodePtr& x, DType dtype, const std::string& what, Span span) {
  const int64_t ratio = Width(dtype) / Width(x->dtype);
  const Size& rows = x->shape[x->shape.size() - 2];
  const Size packed = EveryOther(rows, ratio);
  if (!RequireEqual(rows, packed * Size(ratio), span,
                    what + " needs a multiple of " + std::to_string(ratio) + " rows")) {
    return nullptr;
  }
  const DType bits = BitsOf(dtype), narrow = BitsOf(x->dtype);
  NodePtr all;
  for (int64_t k = 0; k < ratio; ++k) {
    NodePtr part =
        Cast(SameWidth(EachRow(x, k, ratio, packed, span), narrow, span), ComputeType(bits), span);
    const NodePtr places = MakeInt(Width(x->dtype) * k, DType::kWeakInt, span, true);
    if (k > 0) part = Binary(Op::kShl, part, places, kBodySetting, span);
    all = all ? Binary(Op::kBitOr, all, part, kBodySetting, span) : part;
  }
  return SameWidth(Cast(all, bits, span), dtype, span);
}

/// Each row becomes several, the first of its low bits.
NodePtr Elaborator::UnpackRows(const NodePtr& x, DType dtype, Span span) {
  const int64_t ratio = Width(x->dtype) / Width(dtype);
  const NodePtr bits = SameWidth(x, BitsOf(x->dtype), span);
  const size_t axis = x->shape.size() - 1;
  Shape apart = x->shape, joined = x->shape, shape = x->shape;
  apart.insert(apart.begin() + static_cast<std::ptrdiff_t>(axis), Size(1));
  joined.insert(joined.begin() + static_cast<std::ptrdiff_t>(axis), Size(ratio));
  shape[axis - 1] = shape[axis - 1] * Size(ratio);
  std::vector<NodePtr> parts;
  for (int64_t k = 0; k < ratio; ++k) {
    const NodePtr places = MakeInt(Width(dtype) * k, DType::kWeakInt, span, true);
    NodePtr part = k > 0 ? Binary(Op::kShr, bits, places, kBodySetting, span) : bits;
    part = SameWidth(Cast(part, BitsOf(dtype), span), dtype, span);
    parts.push_back(Share(TileNode(Op::kReshape, dtype, apart, span, {part})));
  }
  Node concat = TileNode(Op::kConcat, dtype, std::move(joined), span, std::move(parts));
  concat.axes = {static_cast<int>(axis)};
  return Share(TileNode(Op::kReshape, dtype, std::move(shape), span, {Share(std::move(concat))}));
}

}  // namespace kiln
