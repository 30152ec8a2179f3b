#include "generator/predict/advise.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>

#include "generator/check/check_spec.h"
#include "generator/spec/block_params.h"

namespace kiln {
namespace {

using Settings = ParamValues;

constexpr int64_t kExtents[] = {128, 256, 512, 1024, 2048};
constexpr size_t kCombined = 3;       // params whose combinations are all tried
constexpr double kWorthwhile = 1.05;  // less of a speedup is not worth a line

/// The kernel at other values of its params.
struct Trial {
  double seconds = 0;
  int64_t vmem = 0;
};

class Search {
 public:
  Search(const AdviceRequest& request, const Timeline& now)
      : request_(request), now_{now.seconds, now.vmem_bytes} {
    const auto may_change = BlockParams(*request.spec);
    for (const Param& param : request.kernel->params) {
      char* end = nullptr;
      const long long value = std::strtoll(param.value.c_str(), &end, 10);
      if (*end == '\0' && value >= 8 && may_change.count(param.name) > 0)
        extents_.push_back(param.name);
    }
  }

  /// The best of all combinations, or where there are too many, of changes of one param at a time.
  std::optional<Advice> Blocks() {
    Settings best;
    Trial least = now_;
    const auto consider = [&](const Settings& settings) {
      const auto trial = Try(settings);
      if (!trial || trial->seconds >= least.seconds) return false;
      best = settings;
      least = *trial;
      return true;
    };
    if (extents_.size() <= kCombined) {
      ForEachCombination(0, {}, consider);
    } else {
      for (bool better = true; better;) {
        better = false;
        for (const std::string& param : extents_) {
          for (const int64_t extent : kExtents) {
            Settings settings = best;
            settings[param] = std::to_string(extent);
            better |= consider(settings);
          }
        }
      }
    }
    const bool fits = now_.vmem <= Limit();
    if (best.empty() || (fits && now_.seconds < least.seconds * kWorthwhile)) return std::nullopt;
    return Told(best, least);
  }

 private:
  template <typename Consider>
  void ForEachCombination(size_t param, Settings settings, const Consider& consider) {
    if (param == extents_.size()) {
      consider(settings);
      return;
    }
    for (const int64_t extent : kExtents) {
      settings[extents_[param]] = std::to_string(extent);
      ForEachCombination(param + 1, settings, consider);
    }
  }

  int64_t Limit() const { return request_.machine->vmem_limit; }

  std::optional<Trial> Try(const Settings& settings) {
    const auto [found, is_new] = tried_.try_emplace(settings);
    if (is_new) found->second = Predicted(settings);
    return found->second;
  }

  std::optional<Trial> Predicted(const Settings& settings) {
    const auto other = TryAlternative(request_, settings);
    if (!other) return std::nullopt;
    request_.most_seconds -= other->demand;
    return Trial{other->timeline.seconds, other->timeline.vmem_bytes};
  }

  Advice Told(const Settings& settings, const Trial& trial) const {
    Advice advice;
    advice.seconds = trial.seconds;
    advice.vmem_bytes = trial.vmem;
    advice.set.assign(settings.begin(), settings.end());
    advice.text = "--set";
    for (const Param& param : request_.kernel->params) {
      const auto found = settings.find(param.name);
      if (found != settings.end()) advice.text += " " + param.name + "=" + found->second;
    }
    return advice;
  }

  AdviceRequest request_;
  const Trial now_;
  std::vector<std::string> extents_;  // params that change no result
  std::map<Settings, std::optional<Trial>> tried_;
};

/// Cores that do nothing, as no axis may be shared out.
std::optional<Advice> MoreCores(const AdviceRequest& request, const Timeline& timeline) {
  const int64_t cores = request.machine->cores;
  const auto working = static_cast<int64_t>(timeline.cores.size());
  const std::vector<Axis>& axes = request.kernel->axes;
  const bool parallel =
      std::any_of(axes.begin(), axes.end(), [](const Axis& a) { return a.parallel; });
  if (request.predict.cores != 0 || working >= cores || parallel || axes.empty())
    return std::nullopt;
  Advice advice;
  advice.text = "one of " + std::to_string(cores) +
                " cores works: an axis whose steps do not depend on each other can be parallel "
                "(dimension_semantics)";
  const TimelineTotals& of = timeline.cores.empty() ? TimelineTotals() : timeline.cores[0].totals;
  // What HBM needs does not get less, as the cores share it.
  advice.seconds = timeline.dispatch + std::max(of.dma, of.seconds / static_cast<double>(cores));
  advice.vmem_bytes = timeline.vmem_bytes;
  return advice;
}

/// Only how the problem is cut may differ.
bool SameArrays(const AdviceRequest& request, const Binding& other) {
  const std::vector<Ref>& refs = request.kernel->refs;
  if (other.kernel->refs.size() != refs.size()) return false;
  for (size_t r = 0; r < refs.size(); ++r) {
    const bool array = refs[r].role == Role::kInput || refs[r].role == Role::kOutput;
    if (array && other.arrays[r] != request.binding->arrays[r]) return false;
  }
  return true;
}

}  // namespace

std::optional<Alternative> TryAlternative(const AdviceRequest& request, const ParamValues& values) {
  Alternative other;
  other.options = *request.options;
  for (const auto& [name, value] : values) {
    std::erase_if(other.options.set,
                  [&name = name](const auto& given) { return given.first == name; });
    other.options.set.emplace_back(name, value);
  }
  other.options.sizes_follow = true;
  Diagnostics ignored;
  other.kernel = CheckSpec(*request.spec, other.options, ignored);
  if (!other.kernel) return std::nullopt;
  const auto binding = Bind(*other.kernel, *request.inputs, /*partial=*/true, ignored);
  if (!binding || ignored.HasErrors() || !SameArrays(request, *binding)) return std::nullopt;
  if (binding->StepCount() > request.most_steps) return std::nullopt;
  PredictOptions how = request.predict;
  how.detail = false;
  how.progress = nullptr;
  const Demand demand = PredictDemand(*binding, *request.machine, how);
  if (demand.seconds > request.most_seconds) return std::nullopt;
  other.demand = demand.seconds;
  auto timeline = Predict(*binding, *request.machine, how, ignored);
  if (!timeline || timeline->vmem_bytes > request.machine->vmem_limit) return std::nullopt;
  other.timeline = std::move(*timeline);
  return other;
}

std::vector<Advice> Advise(const AdviceRequest& request, const Timeline& timeline) {
  std::vector<Advice> all;
  Search search(request, timeline);
  for (auto& advice : {search.Blocks(), MoreCores(request, timeline)}) {
    if (advice) all.push_back(*advice);
  }
  std::stable_sort(all.begin(), all.end(),
                   [](const Advice& a, const Advice& b) { return a.seconds < b.seconds; });
  return all;
}

}  // namespace kiln
