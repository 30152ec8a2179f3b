#include <algorithm>
#include <cmath>

#include "tests/random/make/maker.h"

/// Expressions that give tiles another shape: positions, subscripts, and what moves elements.
namespace kiln::soak {
namespace {

std::string Number(size_t value) { return std::to_string(value); }

/// By how much an extent "(b + 2)" is larger than `b`; 0: it is another one.
int64_t Border(const Extent& extent, const Extent& inner) {
  const std::string begin = "(" + inner.text + " + ";
  if (extent.text.rfind(begin, 0) != 0) return 0;
  return extent.value - inner.value;
}

}  // namespace

Extent Maker::AnyExtent() {
  std::vector<Extent> known;
  for (const RefInfo& ref : refs_) known.insert(known.end(), ref.view.begin(), ref.view.end());
  if (known.empty() || dice_.Chance(0.15)) {
    const int64_t size = dice_.Between(1, 5);
    return {std::to_string(size), size};
  }
  return dice_.Pick(known);
}

/// With one dimension more: that of something that can be read, if possible.
Extents Maker::Grown(const Extents& shape, size_t* axis) {
  if (dice_.Chance(0.75)) {
    std::vector<std::pair<Extents, size_t>> found;
    for (const RefInfo& ref : refs_) {
      if (!ref.readable) continue;
      for (size_t d = 0; d < ref.view.size(); ++d) {
        if (Without(ref.view, d) == shape) found.emplace_back(ref.view, d);
      }
    }
    if (!found.empty()) {
      const auto& [grown, at] = dice_.Pick(found);
      *axis = at;
      return grown;
    }
  }
  Extents grown = shape;
  *axis = static_cast<size_t>(dice_.Between(0, static_cast<int64_t>(shape.size())));
  grown.insert(grown.begin() + static_cast<long>(*axis), AnyExtent());
  return grown;
}

std::optional<Value> Maker::MakePosition(DType dtype, const Extents& shape, int) {
  std::vector<const RefInfo*> found;
  for (const RefInfo& ref : refs_) {
    if (ref.whole_index && Broadcasts(ref.view, shape)) found.push_back(&ref);
  }
  const bool has = !found.empty();
  const RefInfo* ref = has ? dice_.Pick(found) : nullptr;
  Value value;
  value.dtype = dtype;
  if (dtype == DType::kBool) {
    if (!has) return std::nullopt;
    value.term.text = "inside(" + ref->name + ")";
    value.shape = ref->view;
  } else if (has && !ref->view.empty() && dice_.Chance(0.5)) {
    const size_t axis =
        static_cast<size_t>(dice_.Between(0, static_cast<int64_t>(ref->view.size()) - 1));
    value.term.text = "at(" + ref->name +
                      (ref->view.size() == 1 && dice_.Chance(0.5) ? "" : ", " + Number(axis)) + ")";
    value.shape = ref->view;
  } else {
    if (shape.empty()) return std::nullopt;
    return Positions(shape);
  }
  value.facts = FactsOf(dtype, value.shape.size());
  if (dtype == DType::kI32) value.facts.bound = 4096;
  return value;
}

Value Maker::Positions(const Extents& shape) {
  const size_t axis = static_cast<size_t>(dice_.Between(0, static_cast<int64_t>(shape.size()) - 1));
  Value value{{"iota(" + ShapeText(shape) +
                   (shape.size() == 1 && dice_.Chance(0.5) ? "" : ", " + Number(axis)) + ")",
               {}},
              DType::kI32,
              shape,
              FactsOf(DType::kI32, shape.size())};
  value.facts.bound = 128;
  return value;
}

std::optional<Value> Maker::MakeTranspose(DType dtype, const Extents& shape, int depth) {
  const size_t rank = shape.size();
  if (rank < 2) return std::nullopt;
  std::vector<size_t> axes;
  for (size_t d = 0; d < rank; ++d) axes.push_back(d);
  for (size_t d = rank; d > 1; --d)
    std::swap(axes[d - 1],
              axes[static_cast<size_t>(dice_.Between(0, static_cast<int64_t>(d) - 1))]);
  const bool last = Want("attribute mT", 0.4);
  if (last) {
    for (size_t d = 0; d < rank; ++d) axes[d] = d;
    std::swap(axes[rank - 1], axes[rank - 2]);
  }
  Extents from(rank);
  for (size_t d = 0; d < rank; ++d) from[axes[d]] = shape[d];
  Value x = MakeWhole(dtype, from, depth);
  std::string text = "transpose($0, [";
  for (size_t d = 0; d < rank; ++d) text += (d > 0 ? ", " : "") + Number(axes[d]);
  Value value = x;
  value.term = {last ? (rank == 2 && Want("attribute T", 0.5) ? "$0.T" : "$0.mT") : text + "])",
                {x.term}};
  value.shape = shape;
  for (size_t d = 0; d < rank; ++d) value.facts.edges[d] = x.facts.edges[axes[d]];
  return value;
}

/// A slice of two neighbours that have become one dimension.
Value Maker::PartOfReshape(DType dtype, const Extents& shape, size_t axis, int depth) {
  const int64_t extent = shape[axis].value, within = dice_.Between(2, 4);
  const int64_t outer = (extent + dice_.Between(0, extent)) / within + 1;
  const int64_t start = dice_.Chance(0.5) ? 0 : dice_.Between(0, outer * within - extent);
  Extents from = shape, joined = shape;
  from[axis] = {std::to_string(outer), outer};
  from.insert(from.begin() + static_cast<long>(axis) + 1, Extent{std::to_string(within), within});
  joined[axis] = {std::to_string(outer * within), outer * within};
  const Value x = MakeClean(dtype, from, depth);
  Value value = x;
  std::string text = "reshape($0, " + ShapeText(joined) + ")[";
  for (size_t d = 0; d < axis; ++d) text += ":, ";
  value.term = {text + std::to_string(start) + ":" + std::to_string(start + extent) + "]",
                {x.term}};
  value.shape = shape;
  value.facts.edges.assign(shape.size(), {});
  return value;
}

/// Two neighbours become one dimension, or one becomes two.
std::optional<Value> Maker::MakeReshape(DType dtype, const Extents& shape, int depth) {
  if (shape.empty()) return std::nullopt;
  Extents from = shape;
  const size_t axis = static_cast<size_t>(dice_.Between(0, static_cast<int64_t>(shape.size()) - 1));
  const int64_t value_at = shape[axis].value;
  const bool number = shape[axis].text == std::to_string(value_at);
  if (number && dice_.Chance(0.3)) return PartOfReshape(dtype, shape, axis, depth);
  if (axis + 1 < shape.size() && dice_.Chance(0.5)) {
    const Extent joined{"(" + shape[axis].text + ") * (" + shape[axis + 1].text + ")",
                        shape[axis].value * shape[axis + 1].value};
    from.erase(from.begin() + static_cast<long>(axis));
    from[axis] = joined;
  } else if (number && value_at % 2 == 0) {
    from[axis] = {std::to_string(value_at / 2), value_at / 2};
    from.insert(from.begin() + static_cast<long>(axis), Extent{"2", 2});
  } else {
    from.insert(from.begin() + static_cast<long>(axis), Extent{"1", 1});
  }
  Value x = MakeClean(dtype, from, depth);
  Value value = x;
  value.term = {"reshape($0, " + ShapeText(shape) + ")", {x.term}};
  value.shape = shape;
  value.facts.edges.assign(shape.size(), {});
  return value;
}

std::optional<Value> Maker::MakeExpand(DType dtype, const Extents& shape, int depth) {
  if (shape.empty()) return std::nullopt;
  // Any dimension may be 1 instead, as the result is broadcast.
  const size_t axis = static_cast<size_t>(dice_.Between(0, static_cast<int64_t>(shape.size()) - 1));
  Value x = MakeWhole(dtype, Without(shape, axis), depth);
  Value value = x;
  value.term = {"expand($0, " + Number(axis) + ")", {x.term}};
  value.shape = shape;
  value.shape[axis] = {"1", 1};
  value.facts.edges.insert(value.facts.edges.begin() + static_cast<long>(axis),
                           std::set<std::string>());
  return value;
}

std::optional<Value> Maker::MakeSqueeze(DType dtype, const Extents& shape, int depth) {
  const size_t axis = static_cast<size_t>(dice_.Between(0, static_cast<int64_t>(shape.size())));
  Extents from = shape;
  from.insert(from.begin() + static_cast<long>(axis), Extent{"1", 1});
  Value x = MakeWhole(dtype, from, depth);
  Value value = x;
  value.term = {"squeeze($0, " + Number(axis) + ")", {x.term}};
  value.shape = shape;
  value.facts.edges = Without(x.facts.edges, axis);
  return value;
}

std::optional<Value> Maker::MakeConcat(DType dtype, const Extents& shape, int depth) {
  if (shape.empty()) return std::nullopt;
  const size_t axis = static_cast<size_t>(dice_.Between(0, static_cast<int64_t>(shape.size()) - 1));
  const int64_t whole = shape[axis].value;
  if (whole < 2) return std::nullopt;
  // Parts of known lengths; the last is what a dimension's name leaves.
  const int64_t part = dice_.Between(1, whole - 1);
  Extents first = shape, second = shape;
  first[axis] = {std::to_string(part), part};
  const bool number = shape[axis].text == std::to_string(whole);
  second[axis] = {number ? std::to_string(whole - part)
                         : "(" + shape[axis].text + " - " + std::to_string(part) + ")",
                  whole - part};
  Value a = MakeClean(dtype, first, depth), b = MakeClean(dtype, second, depth);
  Value value = a;
  value.term = {"concat([$0, $1], axis=" + Number(axis) + ")", {a.term, b.term}};
  value.shape = shape;
  value.facts.same = a.facts.same && b.facts.same;
  value.facts.bound = std::max(a.facts.bound, b.facts.bound);
  value.facts.grain = std::min(a.facts.grain, b.facts.grain);
  return value;
}

std::optional<Value> Maker::MakeRoll(DType dtype, const Extents& shape, int depth) {
  if (shape.empty()) return std::nullopt;
  const size_t axis = static_cast<size_t>(dice_.Between(0, static_cast<int64_t>(shape.size()) - 1));
  Value x = MakeClean(dtype, shape, depth);
  const std::string shift =
      dice_.Chance(0.5) ? std::to_string(dice_.Between(-3, 9)) : IndexBelow({"5", 5}, depth);
  Value value = x;
  value.term = {"roll($0, " + shift + ", axis=" + Number(axis) + ")", {x.term}};
  return value;
}

/// Slabs of a value by indices of one dimension or, now and then, of two.
std::optional<Value> Maker::MakeTake(DType dtype, const Extents& shape, int depth) {
  if (shape.empty()) return std::nullopt;
  const auto rank = static_cast<int64_t>(shape.size());
  const int64_t axis = dice_.Between(0, rank - 1);
  const int64_t count = axis + 1 < rank && dice_.Chance(0.2) ? 2 : 1;
  const auto begin = shape.begin() + axis;
  const Extents chosen(begin, begin + count);
  const int64_t from = dice_.Between(1, 6);
  Extents whole = shape;
  whole.erase(whole.begin() + axis, whole.begin() + axis + count);
  whole.insert(whole.begin() + axis, {std::to_string(from), from});
  Value value = MakeClean(dtype, whole, depth);
  ++need_same_;
  const Value ids = Whole(MakeClean(DType::kI32, chosen, depth), chosen);
  --need_same_;
  value = Whole(value, whole);
  const std::string last = std::to_string(from - 1);
  const std::string in_range =
      dice_.Chance(0.5) ? "clamp($1, 0, " + last + ")" : "$1 % " + std::to_string(from);
  value.term = {"take($0, " + in_range + ", axis=" + Number(static_cast<size_t>(axis)) + ")",
                {value.term, ids.term}};
  value.shape = shape;
  value.facts.edges.assign(shape.size(), {});
  return value;
}

/// An element number of that extent.
std::string Maker::IndexBelow(const Extent& extent, int depth) {
  std::vector<std::string> ways = {std::to_string(dice_.Between(0, extent.value - 1)),
                                   extent.text + " - 1"};
  if (extent.value < 3) ways = {"0"};
  for (const Value& loop : loops_) {
    ways.push_back("min(" + loop.term.text + ", " + extent.text + " - 1)");
    if (loop.shape[0].text == extent.text) ways.insert(ways.end(), 4, loop.term.text);
  }
  for (const AxisInfo& axis : axes_) {
    ways.push_back(axis.name + " % " + extent.text);
    ways.push_back("min(" + axis.name + ", " + extent.text + " - 1)");
  }
  if (depth > 0 && dice_.Chance(0.2)) {
    ++need_same_;
    const Value value = MakeClean(DType::kI32, {}, 1);
    --need_same_;
    Statement one;  // only to write the term
    Draft draft;
    draft.body.push_back({"$0", {value.term}, {}, {}});
    std::string text = Write(draft);
    text = text.substr(text.find("body: |\n") + 10);
    text.pop_back();
    return "clamp(" + text + ", 0, " + extent.text + " - 1)";
  }
  return dice_.Pick(ways);
}

/// A window of `size` elements out of `extent`, neighbours or not.
std::string Maker::Some(const std::string& what, int64_t size, int64_t extent, int depth) {
  const int64_t most = size > 1 ? (extent - 1) / (size - 1) : 1;
  const int64_t stride =
      most > 1 && Want(what + " stride", 0.25) ? dice_.Between(2, std::min<int64_t>(most, 4)) : 1;
  const int64_t reach = (size - 1) * stride + 1, room = extent - reach;
  if (dice_.Chance(0.5) || room == 0) {
    const int64_t start = dice_.Between(0, room);
    return (start == 0 ? "" : std::to_string(start)) + ":" + std::to_string(start + reach) +
           (stride == 1 ? "" : ":" + std::to_string(stride));
  }
  return "ds(" + IndexBelow({std::to_string(room + 1), room + 1}, depth) + ", " +
         std::to_string(size) + (stride == 1 ? ")" : ", stride=" + std::to_string(stride) + ")");
}

/// A part of something that can be read: points in some dimensions, windows in others.
std::optional<Value> Maker::Part(DType dtype, const Extents& shape) {
  std::vector<std::pair<Value, bool>> found;
  for (const RefInfo& ref : refs_) {
    if (ref.readable && ref.dtype == dtype && ref.view.size() >= shape.size() &&
        !ref.view.empty() && (need_same_ == 0 || !ref.loose))
      found.emplace_back(ReadOf(ref), true);
  }
  for (const Value& value : scope_) {
    if (value.dtype == dtype && value.shape.size() >= shape.size() && !value.shape.empty() &&
        (need_same_ == 0 || value.facts.same))
      found.emplace_back(value, false);
  }
  if (found.empty()) return std::nullopt;
  const Value source = dice_.Pick(found).first;
  // Which dimensions stay: those that match the wanted shape from the end.
  const size_t rank = source.shape.size();
  std::vector<std::string> entries(rank);
  Extents result;
  std::vector<std::set<std::string>> edges;
  size_t wanted = shape.size();
  for (size_t d = rank; d-- > 0;) {
    const bool spare = d + 1 > wanted;  // more dimensions are left than are wanted
    const Extent& extent = source.shape[d];
    const bool clean = source.facts.Clean(d);
    if (wanted > 0 && extent == shape[wanted - 1] && (!spare || dice_.Chance(0.6))) {
      entries[d] = ":";
      result.insert(result.begin(), extent);
      edges.insert(edges.begin(), source.facts.edges[d]);
      --wanted;
    } else if (wanted > 0 && clean && Border(extent, shape[wanted - 1]) > 0) {
      // A window of a block with a border.
      const int64_t start = dice_.Between(0, Border(extent, shape[wanted - 1]));
      const std::string from = std::to_string(start), size = shape[wanted - 1].text;
      entries[d] =
          dice_.Chance(0.7) ? from + ":" + size + " + " + from : "ds(" + from + ", " + size + ")";
      result.insert(result.begin(), shape[wanted - 1]);
      edges.insert(edges.begin(), std::set<std::string>());
      --wanted;
    } else if (wanted > 0 && clean &&
               shape[wanted - 1].text == std::to_string(shape[wanted - 1].value) &&
               shape[wanted - 1].value <= extent.value && shape[wanted - 1].value > 1) {
      entries[d] = Some("subscript", shape[wanted - 1].value, extent.value, 0);
      result.insert(result.begin(), shape[wanted - 1]);
      edges.insert(edges.begin(), std::set<std::string>());
      --wanted;
    } else if (spare && clean && extent.value > 0) {
      entries[d] = IndexBelow(extent, 0);
    } else {
      return std::nullopt;
    }
  }
  if (wanted > 0) return std::nullopt;
  std::string text;
  size_t last = rank;
  while (last > 1 && entries[last - 1] == ":" && dice_.Chance(0.5)) --last;
  for (size_t d = 0; d < last; ++d) text += (d > 0 ? ", " : "") + entries[d];
  if (rank > 1 && entries[0] == ":" && Want("subscript ...", 0.2)) {
    text = "...";
    for (size_t d = 1; d < rank; ++d) text += ", " + entries[d];
  }
  Value value = source;
  value.term = {"$0[" + text + "]", {source.term}};
  value.shape = result;
  value.facts.edges = edges;
  return value;
}

std::optional<Value> Maker::MakeSlice(DType dtype, const Extents& shape, int) {
  return Part(dtype, shape);
}

std::optional<Value> Maker::MakeBroadcast(DType dtype, const Extents& shape, int depth) {
  if (shape.empty()) return std::nullopt;
  Value x = Make(dtype, Extents(shape.begin() + 1, shape.end()), depth);
  Value value = Whole(x, shape);
  return value;
}

std::optional<Value> Maker::MakeVisit(DType, const Extents&, int) {
  std::vector<std::string> names;
  for (const AxisInfo& axis : axes_) names.insert(names.end(), 2, axis.name);
  for (const RefInfo& ref : refs_) {
    if (ref.whole_index) names.push_back(ref.name);
  }
  if (names.empty()) return std::nullopt;
  Value value{{PickEntry("function", {"first", "last"}) + "(" + dice_.Pick(names) + ")", {}},
              DType::kBool,
              {},
              FactsOf(DType::kBool, 0)};
  return value;
}

}  // namespace kiln::soak
