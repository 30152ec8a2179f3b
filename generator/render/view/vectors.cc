#include <algorithm>

#include "generator/plan/walk.h"
#include "generator/render/print/operations.h"
#include "generator/render/view/body_view.h"

/// Expressions inside a lane loop.
namespace kiln::render {
namespace {

// Longer values get a name of their own, so that lines stay readable.
constexpr size_t kLongValue = 64;
// Registers hold no longer tables (simd/lookup-inl.h).
constexpr int64_t kMostEntries = 256;

}  // namespace

bool BodyView::Varies(const Place& place) const {
  return std::any_of(place.at.begin(), place.at.end(), [&](const Coordinate& c) {
    return c.loop == lanes_ || (c.offset && Varies(*c.offset));
  });
}

/// Whether the value differs between lanes.
bool BodyView::Varies(const Element& e) const {
  if (const auto* iteration = As<element::Iteration>(e)) return iteration->loop == lanes_;
  if (const auto* named = As<element::Named>(e)) return vectors_.count(named->variable) > 0;
  if (const Place* place = LoadedBy(e)) return Varies(*place);
  bool varies = false;
  ForEachPart(e, [&](const ElementPtr& part) { varies = varies || Varies(*part); });
  return varies;
}

/// Whether an index is one more in each lane than in the lane before.
bool BodyView::CountsUp(const Element& e) const {
  if (Is<element::Iteration>(e)) return true;
  const auto* operation = As<element::Operation>(e);
  if (!operation || (operation->op != Op::kAdd && operation->op != Op::kSub)) return false;
  const Element &a = *operation->args[0], &b = *operation->args[1];
  if (!Varies(b)) return CountsUp(a);
  return operation->op == Op::kAdd && !Varies(a) && CountsUp(b);
}

std::string BodyView::Vector(const ElementPtr& e, std::vector<std::string>* lines, bool whole) {
  if (!Varies(*e)) {
    const std::string scalar = scalars_.Print(*e);
    return "at.Splat(" +
           (e->dtype == DType::kIndex ? "static_cast<int32_t>(" + scalar + ")" : scalar) + ")";
  }
  // Coordinates count up by one from lane to lane; what is made of them is in the arithmetic of
  // i32.
  if (e->dtype == DType::kIndex && CountsUp(*e)) {
    const auto* iteration = As<element::Iteration>(*e);
    const std::string first = iteration ? LoopName(iteration->loop) : scalars_.Print(*e);
    return "at.Iota(static_cast<int32_t>(" + first + "))";
  }
  if (const Place* place = LoadedBy(*e)) return VectorLoad(*place, lines);
  if (const auto* named = As<element::Named>(*e)) return VariableName(named->variable);
  std::string text = VectorOperation(*e, lines);
  return whole ? text : Shortened(std::move(text), lines);
}

/// The text of a value, or a name for a long one.
std::string BodyView::Shortened(std::string text, std::vector<std::string>* lines) {
  if (text.size() <= kLongValue) return text;
  const std::string name = scope_.Numbered("value");
  lines->push_back("const auto " + name + " = " + text + ";");
  return name;
}

bool BodyView::IsLoaded(const Place& from) const {
  return std::any_of(loaded_.begin(), loaded_.end(),
                     [&](const auto& loaded) { return SamePlace(loaded.first, from); });
}

std::string BodyView::VectorLoad(const Place& from, std::vector<std::string>* lines) {
  for (const auto& [place, name] : loaded_) {
    if (SamePlace(place, from)) return name;
  }
  const std::string name = scope_.Numbered(names_[from.buffer]);
  const std::string load = TextOfLoad(from, lines);
  lines->push_back("const auto " + name + " = " + load + ";");
  loaded_.push_back({from, name});
  return name;
}

std::string BodyView::TextOfLoad(const Place& from, std::vector<std::string>* lines) {
  const auto column = std::find_if(columns_.begin(), columns_.end(),
                                   [&](const auto& of) { return SamePlace(of.first, from); });
  if (column != columns_.end()) return column->second;
  if (plan_.IsAccumulator(from.buffer)) return "hn::Load(kFloats, " + Pointer(from) + ")";
  if (const Coordinate& last = from.at.back(); last.around && last.loop == lanes_) {
    Place line = from;
    line.at.back() = {};
    Coordinate first = last;
    first.around = {};
    return "at.LoadAround(" + Pointer(line) + ", " + scalars_.Print(first) + ", " +
           scalars_.Print(*last.around) + ")";
  }
  if (AreNeighbours(plan_, from, lanes_)) return "at.Load(" + Pointer(from) + ")";
  if (AreNeighbours(plan_, from, lanes_, -1)) return "at.LoadReversed(" + Pointer(from) + ")";
  if (const auto d = ChosenDimension(from)) {
    const auto varies = [this](const Element& e) { return Varies(e); };
    const Chosen by = *ChosenBy(from.at[*d].offset, varies);
    Place first = from, walked = from;
    first.at[*d].offset = by.rest;
    walked.at[*d] = {lanes_, nullptr, {}, by.stride};
    const std::string indices = Vector(by.index, lines);
    const std::optional<int64_t> entries = plan_[from.buffer].extents[*d].Constant();
    const bool is_table = entries && *entries <= kMostEntries && by.stride == 1 && !by.rest;
    return "at.Gather(" + Pointer(first) + ", " + Stride(walked, lanes_) + ", " + indices +
           (is_table ? ", Entries<" + std::to_string(*entries) + ">()" : "") + ")";
  }
  return "at.LoadStrided(" + Pointer(from) + ", " + Stride(from, lanes_) +
         LikelyStride(from, lanes_) + ")";
}

/// The dimension in which each lane has an index of its own; none: there is none.
std::optional<size_t> BodyView::ChosenDimension(const Place& place) const {
  for (size_t d = 0; d < place.at.size(); ++d) {
    if (place.at[d].offset && Varies(*place.at[d].offset)) return d;
  }
  return std::nullopt;
}

std::string BodyView::VectorCast(const ElementPtr& from, DType to,
                                 std::vector<std::string>* lines) {
  if (to == DType::kIndex) to = DType::kI32;
  if (from->dtype == DType::kIndex) {
    const std::string index = Vector(from, lines);
    return to == DType::kI32 ? index : "Cast<int32_t, " + StorageType(to) + ">(" + index + ")";
  }
  const auto* round = AsOp(*from, Op::kRound);
  const bool is_small = !IsFloat(to) && (RowOf(to).bits == 8 || RowOf(to).bits == 16);
  if (round && from->dtype == DType::kF32 && is_small && to != DType::kBool)
    return "CastNearest<" + StorageType(to) + ">(" + Vector(round->args[0], lines) + ")";
  const std::string value = VectorToRound(from, to, lines);
  // narrow floats are held as float, small integers as int32_t.
  const bool held_alike = ValueType(from->dtype) == ValueType(to) &&
                          (to == DType::kF32 || to == DType::kI32) && from->dtype != DType::kBool;
  if (held_alike) return value;
  return "Cast<" + StorageType(from->dtype) + ", " + StorageType(to) + ">(" + value + ")";
}

/// A value that is rounded to `to` next. What is multiplied on the way there, or chosen, need be no
/// more exact than that.
std::string BodyView::VectorToRound(const ElementPtr& e, DType to, std::vector<std::string>* lines,
                                    bool whole) {
  const auto* operation = As<element::Operation>(*e);
  const bool coarse = operation && e->dtype == DType::kF32 && to == DType::kBF16 && Varies(*e);
  if (!coarse) return Vector(e, lines, whole);
  const auto& [op, args, line] = *operation;
  const auto rounded = [&](size_t k) { return VectorToRound(args[k], to, lines); };
  const std::string_view function = FunctionForRounding(op, to);
  std::string text;
  if (!function.empty()) {
    text = std::string(function) + "(" + Vector(args[0], lines) + ")";
  } else if (op == Op::kDiv && !Varies(*args[1])) {
    text = "DivideByForBf16(" + rounded(0) + ", " + scalars_.Print(*args[1]) + ")";
  } else if (op == Op::kMul || op == Op::kDiv) {
    text = rounded(0);
    text = std::string(VectorFunction(op, e->dtype)) + "(" + text + ", " + rounded(1) + ")";
  } else if (op == Op::kWhere) {
    text = Vector(args[0], lines);
    text += ", " + rounded(1);
    text = std::string(VectorFunction(op, e->dtype)) + "(" + text + ", " + rounded(2) + ")";
  } else {
    return Vector(e, lines, whole);
  }
  return whole ? text : Shortened(std::move(text), lines);
}

std::string BodyView::VectorOperation(const Element& e, std::vector<std::string>* lines) {
  const auto& [op, args, line] = *As<element::Operation>(e);
  if (op == Op::kCast) return VectorCast(args[0], e.dtype, lines);
  if (op == Op::kBitcast) {
    return "Bitcast<" + StorageType(args[0]->dtype) + ", " + StorageType(e.dtype) + ">(" +
           Vector(args[0], lines) + ")";
  }
  if (op == Op::kDiv && !Varies(*args[1]))
    return "DivideBy(" + Vector(args[0], lines) + ", " + scalars_.Print(*args[1]) + ")";
  // All lanes by as much: one instruction, without a look at each lane's count.
  if (IsShift(op) && !Varies(*args[1])) {
    return std::string(VectorFunction(op, args[0]->dtype)) + "(" + Vector(args[0], lines) + ", " +
           scalars_.Print(*args[1]) + ")";
  }
  const DType of = op == Op::kWhere || op == Op::kIf ? e.dtype : args[0]->dtype;
  std::string text = std::string(VectorFunction(op, of)) + "(";
  for (size_t k = 0; k < args.size(); ++k) {
    const bool no_value = Is<element::NoValue>(*args[k]);  // the same for all lanes
    text += (k == 0 ? "" : ", ") + (no_value ? scalars_.Print(*args[k]) : Vector(args[k], lines));
  }
  return text + ")";
}

/// A value that is stored as elements of `type`: a store rounds and cuts off by itself.
std::string BodyView::VectorToStore(ElementPtr value, DType type, std::vector<std::string>* lines,
                                    bool whole) {
  if (const auto* cast = AsOp(*value, Op::kCast)) {
    const DType from = cast->args[0]->dtype, to = value->dtype;
    if (to == type && from != DType::kIndex && to != DType::kBool && from != DType::kBool &&
        ValueType(to) == ValueType(from)) {
      value = ElementPtr(cast->args[0]);
    }
  }
  return VectorToRound(value, type, lines, whole);
}

/// Where the elements of 16 bits are that a store moves as they are, as to widen and to round them
/// takes longer; null: it stores something else.
const Place* BodyView::CopiedBy(const stage::Store& store) const {
  const Place* const from = LoadedBy(*store.value);
  if (!from || store.mask || !store.row.empty() || !columns_.empty() || IsLoaded(*from))
    return nullptr;
  const DType dtype = plan_[from->buffer].dtype;
  const bool wraps = !from->at.empty() && from->at.back().around;
  return RowOf(dtype).bits == 16 && !wraps && plan_[store.place.buffer].dtype == dtype &&
                 AreNeighbours(plan_, *from, lanes_) && AreNeighbours(plan_, store.place, lanes_)
             ? from
             : nullptr;
}

void BodyView::VectorStore(const stage::Store& store, std::vector<std::string>* lines) {
  const Buffer& buffer = plan_[store.place.buffer];
  const bool cached = !streamed_.empty() && !IsStreamed(store.place.buffer);
  const std::string at = cached ? "at.Cached()" : "at";
  if (const Place* const from = CopiedBy(store)) {
    lines->push_back(at + ".Copy(" + Pointer(*from) + ", " + Pointer(store.place) + ");");
    return ForgetLoadsOf(store.place.buffer);
  }
  const std::string text = VectorToStore(store.value, buffer.dtype, lines, store.mask == nullptr);
  const std::string to = Pointer(store.place);
  if (!store.row.empty()) {
    std::string columns = text;
    for (const ElementPtr& behind : store.row)
      columns += ", " + VectorToStore(behind, buffer.dtype, lines, true);
    lines->push_back("StoreRows(at, " + to + ", " + Stride(store.place, lanes_) + ", " + columns +
                     ");");
  } else if (plan_.IsAccumulator(store.place.buffer)) {
    const std::string tag = buffer.dtype == DType::kF64   ? "kDoubles"
                            : buffer.dtype == DType::kI32 ? "kInts"
                                                          : "kFloats";
    lines->push_back("hn::Store(" + text + ", " + tag + ", " + to + ");");
  } else if (store.mask) {
    lines->push_back("at.StoreIf(" + Vector(store.mask, lines) + ", " + text + ", " + to + ");");
  } else if (AreNeighbours(plan_, store.place, lanes_)) {
    lines->push_back(at + ".Store(" + text + ", " + to + ");");
  } else {
    lines->push_back("at.StoreStrided(" + text + ", " + to + ", " + Stride(store.place, lanes_) +
                     LikelyStride(store.place, lanes_) + ");");
  }
  ForgetLoadsOf(store.place.buffer);
}

/// What was loaded from there may have changed.
void BodyView::ForgetLoadsOf(BufferId buffer) {
  std::erase_if(loaded_, [&](const auto& loaded) { return loaded.first.buffer == buffer; });
}

/// What is found by a variable is another element when that has changed.
void BodyView::ForgetLoadsBy(VariableId variable) {
  std::erase_if(loaded_, [&](const auto& loaded) {
    const std::vector<Coordinate>& at = loaded.first.at;
    return std::any_of(at.begin(), at.end(),
                       [&](const Coordinate& c) { return Uses(c.offset, variable); });
  });
}

}  // namespace kiln::render
