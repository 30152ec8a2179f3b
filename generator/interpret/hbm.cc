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
  HbmArray& array = ArrayAt(run, index);
  array.written = true;
  array.aliased = ref.alias >= 0;
  if (array.aliased) {
    array.output = *array.input;
  } else {
    array.output = Array::Zeros(ref.dtype, run.binding.arrays[static_cast<size_t>(index)]);
  }
  const size_t count = static_cast<size_t>(array.output.size());
  array.writers.assign(count, 0);
  if (array.aliased) {
    array.origins.assign(count, kDefined);
    array.readers.assign(count, 0);
    array.readers_2.assign(count, 0);
    return;
  }
  // Only copies can read an output before it is written, and only one that stays in HBM.
  array.origins.assign(count, run.origins.Edge(Origin::Kind::kUncopied, index, 0));
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

void ReportRace(Run& run, int ref, const char* verb, const Stay& other, const char* other_verb) {
  if (!FirstReport(run, "race", ref)) return;
  const std::string other_name = RefAt(run, other.ref).name;
  const std::string shared = other.ref == ref ? "the same elements of `" + other_name + "`"
                                              : "memory it shares with `" + other_name + "`";
  run.diagnostics.Error(
      "race", RefAt(run, ref).span,
      "`" + RefAt(run, ref).name + "` " + verb + AtPoint(run) + " " + shared + " that " +
          (other.ref == ref ? "" : "is ") + other_verb + " at " + PointText(run, other.step) +
          ", and parallel steps have no order",
      "make " + AxesThatDiffer(run, run.step, other.step, true) +
          " `arbitrary` in dimension_semantics, or give each of its steps a block of its own");
}

void ReportRevisit(Run& run, int ref, const Stay& before) {
  if (!FirstReport(run, "revisit", ref)) return;
  const std::string axes = AxesThatDiffer(run, before.step, run.step, false);
  run.diagnostics.Error("revisit", RefAt(run, ref).span,
                        "`" + RefAt(run, ref).name + "` comes back" + AtPoint(run) +
                            " to a block it visited at " + PointText(run, before.step) +
                            " and has left since; what it held is lost",
                        "make " + axes + " the last axis of the grid, so that all steps of a block "
                        "follow each other");
}

bool SameParallel(const Run& run, StayId stay) {
  return ParallelOf(run, run.stays[stay].step) == ParallelOf(run, run.step);
}

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
      Fail(run, "call", ref.span, "`" + ref.name + "` needs an array of " +
                                      ToString(ref.dtype, run.binding.arrays[r]));
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
    if (tile.floating) LoadFloats(values, at, count, tile.floats.get() + to);
    else LoadInts(values, at, count, tile.ints.get() + to);
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
    if (tile.floating) StoreFloats(array.output, at, count, tile.floats.get() + from);
    else StoreInts(array.output, at, count, tile.ints.get() + from);
    if (tile.origins) std::copy_n(tile.origins.get() + from, count, array.origins.data() + at);
    else std::fill_n(array.origins.data() + at, count, kDefined);
  });
}

StayId MarkWrite(Run& run, const Visit& visit) {
  HbmArray& array = ArrayAt(run, visit.ref);
  const StayId stay = static_cast<StayId>(run.stays.size());
  run.stays.push_back({visit.ref, run.step});
  StayId clash = 0, race = 0;
  ForEachElement(array, visit, [&](size_t element) {
    if (array.writers[element] != 0) clash = array.writers[element];
    array.writers[element] = stay;
    if (!array.aliased) return;
    for (const StayId reader : {array.readers[element], array.readers_2[element]}) {
      if (reader != 0 && !SameParallel(run, reader)) race = reader;
    }
  });
  if (clash != 0) {
    if (!SameParallel(run, clash)) ReportRace(run, visit.ref, "writes", run.stays[clash], "were written");
    else if (!visit.copy) ReportRevisit(run, visit.ref, run.stays[clash]);
  }
  if (race != 0) ReportRace(run, visit.ref, "writes", run.stays[race], "read");
  return stay;
}

void MarkRead(Run& run, const Visit& visit, bool copied_in) {
  HbmArray& array = ArrayAt(run, visit.ref);
  if (!array.aliased) return;
  const StayId stay = static_cast<StayId>(run.stays.size());
  run.stays.push_back({visit.ref, run.step});
  StayId writer = 0;
  ForEachElement(array, visit, [&](size_t element) {
    if (array.writers[element] != 0) writer = array.writers[element];
    StayId& first = array.readers[element];
    if (first == 0) first = stay;
    else if (!SameParallel(run, first)) array.readers_2[element] = stay;
  });
  if (writer == 0) return;
  const Stay& output = run.stays[writer];
  if (!SameParallel(run, writer)) {
    ReportRace(run, visit.ref, "reads", output, "written");
  } else if (copied_in && !visit.copy && FirstReport(run, "alias", visit.ref)) {
    run.diagnostics.Error(
        "alias", RefAt(run, visit.ref).span,
        "`" + RefAt(run, visit.ref).name + "` is copied in" + AtPoint(run) + " from memory that `" +
            RefAt(run, output.ref).name + "` took over at " + PointText(run, output.step),
        "visit an output block no earlier than the last copy of the input block that it overwrites");
  }
}

}  // namespace kiln::interpret
