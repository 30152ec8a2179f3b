#include "generator/interpret/finish.h"

#include <limits>
#include <optional>

#include "generator/interpret/grid.h"

namespace kiln::interpret {
namespace {

/// How many elements of an output have something wrong with them, and the first.
struct FaultyElements {
  int64_t count = 0;
  int64_t first = -1;
  void Add(int64_t element) {
    if (count++ == 0) first = element;
  }
};

void ReportCoverage(Run& run, int index, const HbmArray& array, const FaultyElements& faulty) {
  const Ref& ref = RefAt(run, index);
  const StayId stay = array.writers[static_cast<size_t>(faulty.first)];
  std::string why = ", whose block no step visits";
  std::string hint = "let the grid visit every block";
  if (ref.memory == Memory::kAny) {
    why = ", which no copy writes";
    hint = "copy something into every element";
  } else if (stay != 0) {
    const std::string point = PointText(run, run.stays[stay].step);
    why = point.empty() ? "" : ", left out in the stay that begins at grid point " + point;
    hint = "store every element of the block";
  }
  const std::string alias = stay == 0 && !array.aliased ? " or an `alias`" : "";
  run.diagnostics.Error("coverage", ref.span,
                        "no step stores " + std::to_string(faulty.count) + " of the " +
                            std::to_string(array.output.size()) + " elements of `" + ref.name +
                            "`; the first is " + ElementText(run, index, faulty.first) + why,
                        hint + ", or give `" + ref.name + "` an `init`" + alias);
}

void ReportUndefined(Run& run, int index, const HbmArray& array, const FaultyElements& faulty) {
  const Origin& origin = run.origins[array.origins[static_cast<size_t>(faulty.first)]];
  const std::string& name = RefAt(run, index).name;
  const std::string point = PointText(run, origin.stored_step);
  const Span store = origin.stored_at;
  Span at = store;
  std::vector<Note> notes = Trail(run, origin);
  // Of a sum over an edge the sum is at fault, not the statement that stores what came of it.
  const bool elsewhere = RuleOf(origin) == "tail" && (origin.reduced_at.begin < store.begin ||
                                                      origin.reduced_at.end > store.end);
  if (elsewhere) {
    at = origin.reduced_at;
    notes.back() = {store, "what came of it is stored into `" + name + "` here"};
  }
  run.diagnostics.Error(
      RuleOf(origin), at,
      "`" + name + "` ends with " + std::to_string(faulty.count) + " of its " +
          std::to_string(array.output.size()) + " elements undefined; the first is " +
          ElementText(run, index, faulty.first) + ", stored " + (elsewhere ? "later" : "here") +
          (point.empty() ? "" : " at grid point " + point) + "; it comes from " +
          Describe(run, origin),
      Remedy(run, origin), std::move(notes));
}

void SetUndefined(Array& array, int64_t element) {
  if (IsFloat(array.dtype))
    array.SetFloat(element, std::numeric_limits<double>::quiet_NaN());
  else
    array.SetInt(element, MaxOf(array.dtype));
}

void SetInit(Array& array, int64_t element, const Node& init) {
  if (IsFloat(array.dtype))
    array.SetFloat(element, init.float_value);
  else
    array.SetInt(element, init.int_value);
}

void Finish(Run& run, int index, bool check) {
  const Ref& ref = RefAt(run, index);
  HbmArray& array = ArrayAt(run, index);
  FaultyElements missing, undefined;
  const int64_t size = array.output.size();
  for (int64_t e = 0; e < size; ++e) {
    const OriginId id = array.origins[static_cast<size_t>(e)];
    const bool visited = array.writers[static_cast<size_t>(e)] != 0;
    if (!visited && array.aliased) continue;
    if (!visited && ref.init) {
      SetInit(array.output, e, *ref.init);
      continue;
    }
    if (visited && id == kDefined) continue;
    const bool stored = visited && run.origins[id].stored_step >= 0;
    if (stored)
      undefined.Add(e);
    else if (!ref.init_undefined)
      missing.Add(e);
    SetUndefined(array.output, e);
  }
  // What a revisit or a race lost is not reported again.
  if (!check || run.reported.count({"revisit", index}) || run.reported.count({"race", index}))
    return;
  if (missing.count > 0) ReportCoverage(run, index, array, missing);
  if (undefined.count > 0) ReportUndefined(run, index, array, undefined);
}

}  // namespace

std::map<std::string, Array> FinishOutputs(Run& run, bool check) {
  std::map<std::string, Array> outputs;
  for (size_t r = 0; r < run.kernel.refs.size(); ++r) {
    const int index = static_cast<int>(r);
    if (RefAt(run, index).role != Role::kOutput || !ArrayAt(run, index).written) continue;
    Finish(run, index, check);
    outputs[RefAt(run, index).name] = std::move(ArrayAt(run, index).output);
  }
  return outputs;
}

}  // namespace kiln::interpret
