#include "generator/interpret/hbm.h"

#include <algorithm>

#include "generator/interpret/grid.h"

namespace kiln::interpret {
namespace {

/// Calls use(count, array_at, array_stride, tile_at, tile_stride) for rows of a transfer.
template <typename Use>
void ForEachRow(const Transfer& t, Use&& use) {
  const Walk<2> walk(t.extents, {t.array_strides, t.tile_strides}, {t.array_offset, t.tile_offset});
  walk.ForEachRow([&](const auto& at) {
    // A row is contiguous in the array unless its last dimension is squeezed; then element by
    // element.
    if (walk.row_stride(0) == 1 && walk.row_stride(1) == 1) {
      use(walk.row_size(), at[0], at[1]);
    } else {
      for (int64_t i = 0; i < walk.row_size(); ++i) {
        use(int64_t{1}, at[0] + i * walk.row_stride(0), at[1] + i * walk.row_stride(1));
      }
    }
  });
}

void PrepareOutput(Run& run, int index) {
  const Ref& ref = RefAt(run, index);
  const std::vector<int64_t>& shape = run.binding.arrays[static_cast<size_t>(index)];
  HbmArray& array = ArrayAt(run, index);
  array.written = true;
  array.aliased = ref.alias >= 0;
  array.readable = array.aliased || ref.memory == Memory::kAny;
  if (!ByteSize(ref.dtype, shape)) Fail(run, "call", ref.span, "`" + ref.name + "` is too large");
  array.output = array.aliased ? *array.input : Array::Zeros(ref.dtype, shape);
  const size_t count = static_cast<size_t>(array.output.size());
  array.writers.assign(count, 0);
  if (array.readable) {
    array.readers.assign(count, 0);
    array.readers_2.assign(count, 0);
  }
  array.origins.assign(
      count, array.aliased ? kDefined : run.origins.Edge(Origin::Kind::kUncopied, index, 0));
}

std::string AxesThatDiffer(const Run& run, int64_t a, int64_t b, bool parallel) {
  const std::vector<int64_t> from = PointOf(run, a), to = PointOf(run, b);
  std::string names;
  for (size_t axis = 0; axis < from.size(); ++axis) {
    if (from[axis] == to[axis] || run.kernel.axes[axis].parallel != parallel) continue;
    names += (names.empty() ? "`" : ", `") + run.kernel.axes[axis].name + "`";
  }
  return names;
}

Span PlaceOf(const Run& run, const Visit& visit) {
  return visit.copy ? visit.span : MapSpan(RefAt(run, visit.ref));
}

/// The current step and `other` touch one element, and at least one of them writes it.
void ReportRace(Run& run, const Visit& visit, const Stay& other, int64_t element, bool reads,
                bool read) {
  const int ref = visit.ref;
  if (!FirstReport(run, "race", ref)) return;
  const std::string axes = AxesThatDiffer(run, run.step, other.step, true);
  const std::string here = PointText(run, run.step), there = PointText(run, other.step);
  const int reader = reads ? ref : other.ref, writer = reads ? other.ref : ref;
  const std::string what =
      !reads && !read
          ? "grid points " + there + " and " + here + " both write " +
                ElementText(run, ref, element)
          : "grid point " + (reads ? here : there) + " reads " + ElementText(run, reader, element) +
                (reader == writer ? ", which " : ", whose memory ") + (reads ? there : here) +
                " writes" + (reader == writer ? "" : " as " + ElementText(run, writer, element));
  run.diagnostics.Error(
      "race", PlaceOf(run, visit), what + "; they differ along the parallel axis " + axes,
      "make " + axes + " `arbitrary` in dimension_semantics, or " +
          (ref == other.ref ? "let different steps along it touch different elements"
                            : "drop the alias"));
}

void ReportRevisit(Run& run, int ref, const Stay& before, int64_t element) {
  if (!FirstReport(run, "revisit", ref)) return;
  const bool two_pipelines = RefAt(run, ref).in_pipeline &&
                             before.step / run.pipeline_steps != run.step / run.pipeline_steps;
  run.diagnostics.Error(
      "revisit", MapSpan(RefAt(run, ref)),
      "the block of " + ElementText(run, ref, element) + " is left and come back to: visited at " +
          PointText(run, before.step) + " and again at " + PointText(run, run.step) +
          "; what the first visit wrote is lost",
      two_pipelines ? "a pipeline writes back what it holds when it ends, at each step of "
                      "the grid outside"
                    : "make " + AxesThatDiffer(run, before.step, run.step, false) +
                          " the minormost axis of the grid, so that all visits of a block "
                          "follow each other");
}

void ReportAlias(Run& run, const Visit& visit, const Stay& output, int64_t element) {
  const int ref = visit.ref;
  if (!FirstReport(run, "alias", ref)) return;
  run.diagnostics.Error("alias", PlaceOf(run, visit),
                        ElementText(run, ref, element) + " is copied in at " +
                            PointText(run, run.step) + ", after " + PointText(run, output.step) +
                            " has visited its memory as " + ElementText(run, output.ref, element) +
                            ": whether it holds old or new values depends on the pipeline",
                        "read the block no later than the first step that visits it, or drop "
                        "the alias");
}

bool SameParallel(const Run& run, StayId stay) {
  return ParallelOf(run, run.stays[stay].step) == ParallelOf(run, run.step);
}

StayId AddStay(Run& run, int ref) {
  run.stays.push_back({ref, run.step});
  return static_cast<StayId>(run.stays.size() - 1);
}

/// The first element of a visit that an earlier stay touched.
struct Clash {
  StayId stay = 0;
  int64_t element = 0;
  void Note(StayId other, size_t at) {
    if (stay != 0 || other == 0) return;
    stay = other;
    element = static_cast<int64_t>(at);
  }
};

/// Calls use(element) for the elements of a visit.
template <typename Use>
void ForEachElement(const HbmArray& array, const Visit& visit, Use&& use) {
  const std::vector<int64_t>& shape = array.values().shape;
  Dims extents;
  for (const int64_t extent : shape) extents.Append(extent);
  const Dims strides = ContiguousStrides(extents);
  int64_t offset = 0;
  for (int d = 0; d < strides.rank(); ++d) offset += visit.start[d] * strides[d];
  const Walk<1> walk(visit.size, {strides}, {offset});
  walk.ForEachRow([&](const auto& at) {
    for (int64_t i = 0; i < walk.row_size(); ++i) {
      use(static_cast<size_t>(at[0] + i * walk.row_stride(0)));
    }
  });
}

}  // namespace

void PrepareArrays(Run& run, const std::map<std::string, Array>& arrays) {
  run.arrays.resize(run.kernel.refs.size());
  for (size_t r = 0; r < run.kernel.refs.size(); ++r) {
    const Ref& ref = run.kernel.refs[r];
    if (ref.role != Role::kInput || ref.view_of >= 0) continue;
    const auto found = arrays.find(ref.name);
    const bool fits = found != arrays.end() && found->second.dtype == ref.dtype &&
                      found->second.shape == run.binding.arrays[r];
    if (!fits) {
      Fail(run, "call", ref.span,
           "`" + ref.name + "` needs an array of " + ToString(ref.dtype, run.binding.arrays[r]));
    }
    run.arrays[r].input = &found->second;
  }
  for (size_t r = 0; r < run.kernel.refs.size(); ++r) {
    if (run.kernel.refs[r].role == Role::kOutput) PrepareOutput(run, static_cast<int>(r));
  }
}

void Load(const HbmArray& array, const Transfer& transfer, Tile& tile) {
  const Array& values = array.values();
  OriginId any = kDefined;
  ForEachRow(transfer, [&](int64_t count, int64_t at, int64_t to) {
    if (tile.floating)
      LoadFloats(values, at, count, tile.floats.get() + to);
    else
      LoadInts(values, at, count, tile.ints.get() + to);
    for (int64_t i = 0; array.written && i < count; ++i) {
      any |= array.origins[static_cast<size_t>(at + i)];
    }
  });
  if (any == kDefined) return;
  MakeOrigins(tile);
  ForEachRow(transfer, [&](int64_t count, int64_t at, int64_t to) {
    std::copy_n(array.origins.data() + at, count, tile.origins.get() + to);
  });
}

void Store(HbmArray& array, const Transfer& transfer, const Tile& tile) {
  ForEachRow(transfer, [&](int64_t count, int64_t at, int64_t from) {
    if (tile.floating)
      StoreFloats(array.output, at, count, tile.floats.get() + from);
    else
      StoreInts(array.output, at, count, tile.ints.get() + from);
    if (tile.origins)
      std::copy_n(tile.origins.get() + from, count, array.origins.data() + at);
    else
      std::fill_n(array.origins.data() + at, count, kDefined);
  });
}

void MarkWrite(Run& run, const Visit& visit) {
  HbmArray& array = ArrayAt(run, visit.ref);
  const StayId stay = AddStay(run, visit.ref);
  Clash written, read;
  ForEachElement(array, visit, [&](size_t e) {
    written.Note(array.writers[e], e);
    array.writers[e] = stay;
    if (!array.readable) return;
    for (const StayId reader : {array.readers[e], array.readers_2[e]}) {
      if (reader != 0 && !SameParallel(run, reader)) read.Note(reader, e);
    }
  });
  if (written.stay != 0) {
    const Stay& other = run.stays[written.stay];
    if (!SameParallel(run, written.stay))
      ReportRace(run, visit, other, written.element, false, false);
    else if (!visit.copy)
      ReportRevisit(run, visit.ref, other, written.element);
  }
  if (read.stay != 0) ReportRace(run, visit, run.stays[read.stay], read.element, false, true);
}

void MarkRead(Run& run, const Visit& visit, bool copied_in) {
  HbmArray& array = ArrayAt(run, visit.ref);
  if (!array.readable) return;
  const StayId stay = AddStay(run, visit.ref);
  Clash written;
  ForEachElement(array, visit, [&](size_t e) {
    written.Note(array.writers[e], e);
    StayId& first = array.readers[e];
    if (first == 0)
      first = stay;
    else if (!SameParallel(run, first))
      array.readers_2[e] = stay;
  });
  if (written.stay == 0) return;
  const Stay& output = run.stays[written.stay];
  if (!SameParallel(run, written.stay)) {
    return ReportRace(run, visit, output, written.element, true, false);
  }
  // Manual copies are ordered by their waits among themselves, but not after a block's copy-out.
  const bool ordered =
      visit.copy && (RefAt(run, output.ref).memory == Memory::kAny || output.step == run.step);
  if (copied_in && !ordered) ReportAlias(run, visit, output, written.element);
}

}  // namespace kiln::interpret
