#include "generator/interpret/evaluate.h"
#include "generator/interpret/grid.h"

/// Extents and subscripts.
namespace kiln::interpret {
namespace {

std::string NameOf(const Run& run, Subject subject) {
  if (subject.ref >= 0) return "`" + RefAt(run, subject.ref).name + "`";
  if (subject.local < 0) return "the value";
  return "`" + run.kernel[LocalId(subject.local)].name + "`";
}

int64_t StartOf(Run& run, const Subscript& subscript, int d, int64_t size, int64_t extent,
                Subject subject) {
  const int64_t start = EvaluateIndex(run, *subscript.start, "a subscript");
  if (start >= 0 && start <= extent - size) return start;
  const std::string strided = subscript.stride == 1 ? "" : ":" + std::to_string(subscript.stride);
  const std::string what = subscript.range ? "the slice [" + std::to_string(start) + ":" +
                                                 std::to_string(start + size) + strided + "]"
                                           : "the subscript " + std::to_string(start);
  Fail(run, "index-range", subscript.span,
       what + " of " + NameOf(run, subject) + " (dimension " + std::to_string(d) + ")" +
           AtPoint(run) + " is out of range: its extent is " + std::to_string(extent));
}

/// A size of which the spec only says the most.
int64_t CountOf(Run& run, const Subscript& subscript, int d, int64_t most, Subject subject) {
  const int64_t count = EvaluateIndex(run, *subscript.count, "the size of a slice");
  if (count >= 0 && count <= most) return count;
  Fail(run, "index-range", subscript.span,
       "the size " + std::to_string(count) + " of a slice of " + NameOf(run, subject) +
           " (dimension " + std::to_string(d) + ")" + AtPoint(run) +
           " is out of range: most=" + std::to_string(most));
}

}  // namespace

int64_t SizeValue(Run& run, const Size& size, Span span) {
  const auto known = run.sizes.find(&size);
  if (known != run.sizes.end()) return known->second;
  const auto value = Evaluate(size, run.binding);
  if (!value || *value < 0) {
    Fail(run, "shape", span, "the extent " + size.ToString() + " has no value" + AtPoint(run));
  }
  run.sizes[&size] = *value;
  return *value;
}

void CheckCount(Run& run, const Dims& extents, Span span) {
  constexpr int64_t kMostElements = int64_t{1} << 40;
  const auto count = ElementCount({extents.begin(), extents.end()});
  if (count && *count <= kMostElements) return;
  Fail(run, "shape", span, "a value with too many elements" + AtPoint(run));
}

const Dims& ExtentsOf(Run& run, const Shape& shape, Span span) {
  const auto known = run.extents.find(&shape);
  if (known != run.extents.end()) return known->second;
  if (shape.size() > kMaxRank) {
    Fail(run, "shape", span,
         "a value of rank " + std::to_string(shape.size()) + "; the interpreter goes up to " +
             std::to_string(kMaxRank));
  }
  Dims extents;
  for (const Size& size : shape) extents.Append(SizeValue(run, size, span));
  CheckCount(run, extents, span);
  return run.extents[&shape] = extents;
}

void CheckTaken(Run& run, const Tile& ids, int64_t extent, int axis, Subject subject, Span span) {
  for (int64_t k = 0; k < ids.cells; ++k) {
    if (ids.origins && ids.origins[k] != kDefined)
      FailUndefined(run, span, "an index of `take`", ids.origins[k]);
    if (ids.ints[k] >= 0 && ids.ints[k] < extent) continue;
    Fail(run, "index-range", span,
         "the subscript " + std::to_string(ids.ints[k]) + " of " + NameOf(run, subject) +
             " (dimension " + std::to_string(axis) + ")" + AtPoint(run) +
             " is out of range: its extent is " + std::to_string(extent));
  }
}

Box WholeBox(const Dims& extents) { return {Dims(extents.rank()), extents, extents}; }

Box BoxOf(Run& run, const std::vector<Subscript>& subscripts, const Dims& extents,
          Subject subject) {
  if (subscripts.empty()) return WholeBox(extents);
  Box box;
  bool nothing = false;  // a window without elements may be anywhere, if only the step knows that
  for (int d = 0; d < extents.rank(); ++d) {
    const Subscript& subscript = subscripts[static_cast<size_t>(d)];
    const int64_t most = subscript.range ? SizeValue(run, subscript.size, subscript.span) : 1;
    const int64_t count = subscript.count ? CountOf(run, subscript, d, most, subject) : most;
    nothing = nothing || (subscript.count && count == 0);
    box.size.Append(count > 0 ? (count - 1) * subscript.stride + 1 : 0);
    if (subscript.range) box.view.Append(count);
  }
  for (int d = 0; d < extents.rank(); ++d) {
    const Subscript& subscript = subscripts[static_cast<size_t>(d)];
    box.start.Append(nothing ? 0 : StartOf(run, subscript, d, box.size[d], extents[d], subject));
  }
  return box;
}

Tile SliceTile(const Tile& tile, const std::vector<Subscript>& subscripts, const Box& box) {
  Tile view = tile;
  view.extents = Dims();
  view.strides = Dims();
  int axis = 0;
  for (int d = 0; d < tile.rank(); ++d) {
    view.offset += box.start[d] * tile.strides[d];
    const Subscript* own = subscripts.empty() ? nullptr : &subscripts[static_cast<size_t>(d)];
    if (own && !own->range) continue;
    view.extents.Append(box.view[axis++]);
    view.strides.Append(tile.strides[d] * (own ? own->stride : 1));
  }
  return view;
}

Subject SubjectOf(const Node& node) {
  Subject subject;
  if (node.op == Op::kRead) subject.ref = node.index;
  if (node.op == Op::kLocal) subject.local = node.index;
  return subject;
}

}  // namespace kiln::interpret
