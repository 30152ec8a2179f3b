#include "generator/interpret/finish.h"

#include <limits>
#include <optional>

#include "generator/interpret/grid.h"

namespace kiln::interpret {
namespace {

/// How many elements of an output have something wrong with them, and the first.
struct Finding {
  int64_t count = 0;
  int64_t first = -1;
  void Add(int64_t element) {
    if (count++ == 0) first = element;
  }
};

std::string ElementText(const Run& run, int index, int64_t element) {
  const std::vector<int64_t>& shape = run.binding.arrays[static_cast<size_t>(index)];
  std::string text;
  for (size_t d = shape.size(); d-- > 0;) {
    text = std::to_string(element % shape[d]) + (text.empty() ? "" : ", ") + text;
    element /= shape[d];
  }
  return "`" + RefAt(run, index).name + "[" + text + "]`";
}

std::string Count(int64_t count, int64_t of) {
  if (count == of) return count == 1 ? "its one element" : "all its " + std::to_string(of) + " elements";
  return std::to_string(count) + " of its " + std::to_string(of) + " elements";
}

void ReportCoverage(Run& run, int index, const HbmArray& array, const Finding& finding) {
  const Ref& ref = RefAt(run, index);
  const std::string element = ElementText(run, index, finding.first);
  const StayId stay = array.writers[static_cast<size_t>(finding.first)];
  const std::string why =
      stay == 0 ? "no step visits its block"
                : "the body left it out in the stay of its block that began at grid point " +
                      PointText(run, run.stays[stay].step);
  run.diagnostics.Error("coverage", ref.span,
                        "`" + ref.name + "`: no step stores " +
                            Count(finding.count, array.output.size()) + "; the first is " + element +
                            (run.point.empty() && stay != 0 ? "" : ": " + why),
                        stay == 0 ? "let the grid visit every block, or give `" + ref.name +
                                        "` an `init`" + (array.aliased ? "" : " or an `alias`")
                                  : "store every element of the block, or give `" + ref.name +
                                        "` an `init`");
}

void ReportUndefined(Run& run, int index, const HbmArray& array, const Finding& finding) {
  const Origin& origin = run.origins[array.origins[static_cast<size_t>(finding.first)]];
  const std::string point = PointText(run, origin.stored_step);
  run.diagnostics.Error(
      RuleOf(origin), origin.stored_at,
      "`" + RefAt(run, index).name + "` ends with " + Count(finding.count, array.output.size()) +
          " undefined; the first is " + ElementText(run, index, finding.first) + ", stored here" +
          (point.empty() ? "" : " at grid point " + point) + "; it comes from " +
          Describe(run, origin),
      Remedy(run, origin), Trail(run, origin));
}

void SetUndefined(Array& array, int64_t element) {
  if (IsFloat(array.dtype)) array.SetFloat(element, std::numeric_limits<double>::quiet_NaN());
  else array.SetInt(element, MaxOf(array.dtype));
}

void SetInit(Array& array, int64_t element, const Node& init) {
  if (IsFloat(array.dtype)) array.SetFloat(element, init.float_value);
  else array.SetInt(element, init.int_value);
}

void Finish(Run& run, int index, bool check) {
  const Ref& ref = RefAt(run, index);
  HbmArray& array = ArrayAt(run, index);
  Finding missing, undefined;
  for (int64_t e = 0; e < array.output.size(); ++e) {
    const OriginId id = array.origins[static_cast<size_t>(e)];
    const bool visited = array.writers[static_cast<size_t>(e)] != 0;
    if (!visited && array.aliased) continue;
    if (!visited && ref.init) {
      SetInit(array.output, e, *ref.init);
      continue;
    }
    if (visited && id == kDefined) continue;
    const bool stored = visited && run.origins[id].stored_step >= 0;
    if (stored) undefined.Add(e);
    else if (!ref.init_undefined) missing.Add(e);
    SetUndefined(array.output, e);
  }
  // What a revisit or a race lost is not reported again.
  if (!check || run.reported.count({"revisit", index}) || run.reported.count({"race", index})) return;
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
