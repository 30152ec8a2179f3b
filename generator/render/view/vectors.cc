#include <algorithm>

#include "generator/plan/walk.h"
#include "generator/render/print/operations.h"
#include "generator/render/view/body_view.h"

/// Expressions inside a lane loop.
namespace kiln::render {
namespace {

// Longer values get a name of their own, so that lines stay readable.
constexpr size_t kLongValue = 64;

}  // namespace

bool BodyView::Varies(const Place& place) const {
  return std::any_of(place.at.begin(), place.at.end(), [&](const Coordinate& c) {
    return c.loop == lanes_ || (c.offset && Varies(*c.offset));
  });
}

/// Whether the value differs between lanes.
bool BodyView::Varies(const Element& e) const {
  if (e.kind == Element::Kind::kLoop) return e.index == lanes_;
  if (e.kind == Element::Kind::kVariable) return vectors_.count(e.index) > 0;
  if (e.kind == Element::Kind::kLoad) return Varies(e.place);
  return std::any_of(e.args.begin(), e.args.end(), [&](const ElementPtr& a) { return Varies(*a); });
}

bool BodyView::HasWide(const Stages& stages) const {
  bool wide = false;
  for (const Stage& stage : stages) {
    ForEachElement(stage, [&](const Element& e) { wide = wide || IsWide(e.dtype); });
    ForEachPlace(stage, [&](const Place& p, bool) {
      wide = wide || IsWide(plan_.buffers[static_cast<size_t>(p.buffer)].dtype);
    });
  }
  return wide;
}

std::string BodyView::Vector(const ElementPtr& e, std::vector<std::string>* lines, bool whole) {
  if (!Varies(*e)) {
    const std::string scalar = scalars_.Print(*e);
    return "at.Splat(" +
           (e->dtype == DType::kIndex ? "static_cast<int32_t>(" + scalar + ")" : scalar) + ")";
  }
  // Coordinates: the lanes of an index count up by one.
  if (e->dtype == DType::kIndex) {
    const std::string first =
        e->kind == Element::Kind::kLoop ? LoopName(e->index) : scalars_.Print(*e);
    return "at.Iota(static_cast<int32_t>(" + first + "))";
  }
  switch (e->kind) {
    case Element::Kind::kLoad:
      return VectorLoad(*e, lines);
    case Element::Kind::kVariable:
      return VariableName(e->index);
    default:
      break;
  }
  std::string text = VectorOperation(*e, lines);
  if (whole || text.size() <= kLongValue) return text;
  const std::string name = scope_.Numbered("value");
  lines->push_back("const auto " + name + " = " + text + ";");
  return name;
}

std::string BodyView::VectorLoad(const Element& e, std::vector<std::string>* lines) {
  for (const auto& [place, name] : loaded_) {
    if (SamePlace(place, e.place)) return name;
  }
  const Buffer& buffer = plan_.buffers[static_cast<size_t>(e.place.buffer)];
  const std::string name = scope_.Numbered(names_.buffers[static_cast<size_t>(e.place.buffer)]);
  // Lanes are neighbours if they run over the last dimension.
  int last = -1;
  for (size_t d = 0; d < e.place.at.size(); ++d) {
    if (Keeps(buffer, d)) last = static_cast<int>(d);
  }
  const bool neighbours = last >= 0 && e.place.at[static_cast<size_t>(last)].loop == lanes_;
  std::string text = "const auto " + name + " = ";
  if (e.place.buffer == plan_.accumulator) {
    text += "hn::Load(kFloats, " + Pointer(e.place) + ");";
  } else if (neighbours) {
    text += "at.Load(" + Pointer(e.place) + ");";
  } else {
    text += "at.LoadStrided(" + Pointer(e.place) + ", " + Stride(e.place, lanes_) + ");";
  }
  lines->push_back(text);
  loaded_.push_back({e.place, name});
  return name;
}

std::string BodyView::VectorCast(const Element& e, std::vector<std::string>* lines) {
  const ElementPtr& from = e.args[0];
  if (from->dtype == DType::kIndex) {
    const std::string index = Vector(from, lines);
    return e.dtype == DType::kI32 ? index
                                  : "Cast<int32_t, " + StorageType(e.dtype) + ">(" + index + ")";
  }
  const std::string value = VectorToRound(from, e.dtype, lines);
  // narrow floats are held as float, small integers as int32_t.
  const bool held_alike = ValueType(from->dtype) == ValueType(e.dtype) &&
                          (e.dtype == DType::kF32 || e.dtype == DType::kI32) &&
                          from->dtype != DType::kBool;
  if (held_alike) return value;
  return "Cast<" + StorageType(from->dtype) + ", " + StorageType(e.dtype) + ">(" + value + ")";
}

/// A value that is rounded to `to` next.
std::string BodyView::VectorToRound(const ElementPtr& e, DType to, std::vector<std::string>* lines,
                                    bool whole) {
  const bool is_function = e->kind == Element::Kind::kOp && e->dtype == DType::kF32 && Varies(*e);
  const std::string_view function = is_function ? FunctionForRounding(e->op, to) : "";
  if (function.empty()) return Vector(e, lines, whole);
  return std::string(function) + "(" + Vector(e->args[0], lines) + ")";
}

std::string BodyView::VectorOperation(const Element& e, std::vector<std::string>* lines) {
  if (e.op == Op::kCast) return VectorCast(e, lines);
  if (e.op == Op::kBitcast) {
    return "Bitcast<" + StorageType(e.args[0]->dtype) + ", " + StorageType(e.dtype) + ">(" +
           Vector(e.args[0], lines) + ")";
  }
  if (e.op == Op::kDiv && !Varies(*e.args[1]))
    return "DivideBy(" + Vector(e.args[0], lines) + ", " + scalars_.Print(*e.args[1]) + ")";
  const DType of = e.op == Op::kWhere || e.op == Op::kIf ? e.dtype : e.args[0]->dtype;
  std::string text = std::string(VectorFunction(e.op, of)) + "(";
  for (size_t k = 0; k < e.args.size(); ++k) {
    const bool no_value = e.args[k]->kind == Element::Kind::kNoValue;  // the same for all lanes
    text +=
        (k == 0 ? "" : ", ") + (no_value ? scalars_.Print(*e.args[k]) : Vector(e.args[k], lines));
  }
  return text + ")";
}

void BodyView::VectorStore(const Stage& stage, std::vector<std::string>* lines) {
  const Buffer& buffer = plan_.buffers[static_cast<size_t>(stage.place.buffer)];
  // A store rounds and cuts off by itself.
  ElementPtr value = stage.value;
  if (value->kind == Element::Kind::kOp && value->op == Op::kCast && value->dtype == buffer.dtype &&
      value->args[0]->dtype != DType::kIndex && value->dtype != DType::kBool &&
      value->args[0]->dtype != DType::kBool &&
      ValueType(value->dtype) == ValueType(value->args[0]->dtype)) {
    value = value->args[0];
  }
  const std::string text = VectorToRound(value, buffer.dtype, lines, stage.mask == nullptr);
  int last = -1;
  for (size_t d = 0; d < stage.place.at.size(); ++d) {
    if (Keeps(buffer, d)) last = static_cast<int>(d);
  }
  const bool neighbours = last >= 0 && stage.place.at[static_cast<size_t>(last)].loop == lanes_;
  const std::string to = Pointer(stage.place);
  if (stage.place.buffer == plan_.accumulator) {
    const std::string tag = buffer.dtype == DType::kF64   ? "kDoubles"
                            : buffer.dtype == DType::kI32 ? "kInts"
                                                          : "kFloats";
    lines->push_back("hn::Store(" + text + ", " + tag + ", " + to + ");");
  } else if (stage.mask) {
    lines->push_back("at.StoreIf(" + Vector(stage.mask, lines) + ", " + text + ", " + to + ");");
  } else if (neighbours) {
    lines->push_back("at.Store(" + text + ", " + to + ");");
  } else {
    lines->push_back("at.StoreStrided(" + text + ", " + to + ", " + Stride(stage.place, lanes_) +
                     ");");
  }
  // What was loaded from there may have changed.
  std::erase_if(loaded_, [&](const auto& l) { return l.first.buffer == stage.place.buffer; });
}

}  // namespace kiln::render
