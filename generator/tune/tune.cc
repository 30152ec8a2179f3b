#include "generator/tune/tune.h"

#include <algorithm>
#include <chrono>

#include "generator/tune/stopwatch.h"

namespace kiln {
namespace {

/// What takes so many times as long as the best on the TPU is not worth timing here: one lock
/// serves both.
constexpr double kSlack = 2;
/// More grid steps than the spec's own by this factor: blocks far too small.
constexpr int64_t kMoreSteps = 64;
constexpr int64_t kFewSteps = 4096;
constexpr size_t kMostCombinations = 4000;
/// Less is noise.
constexpr double kWorthwhile = 1.03;

class Tuner {
 public:
  Tuner(const AdviceRequest& request, const std::vector<TunedParam>& params,
        const TuneOptions& options)
      : request_(request), params_(params), options_(options), watch_(request, options) {
    request_.most_steps =
        std::max(kFewSteps, std::max<int64_t>(request.binding->StepCount(), 1) * kMoreSteps);
  }

  TuneResult Run() {
    PredictAll();
    if (options_.measure)
      MeasureSome();
    else
      TakePredicted();
    const auto faster = [](const Configuration& a, const Configuration& b) {
      return a.seconds < b.seconds;
    };
    std::stable_sort(result_.tried.begin(), result_.tried.end(), faster);
    return std::move(result_);
  }

 private:
  bool Stopped() const { return !result_.error.empty(); }

  ParamValues Present() const {
    ParamValues values;
    for (const TunedParam& tuned : params_) {
      for (const Param& param : request_.kernel->params) {
        if (param.name == tuned.name) values[tuned.name] = param.value;
      }
    }
    return values;
  }

  // The predictor -----------------------------------------------------------------------------

  void PredictAll() {
    std::vector<ParamValues> all{{}};
    for (const TunedParam& param : params_) {
      std::vector<ParamValues> longer;
      for (const ParamValues& values : all) {
        for (const int64_t value : param.values) {
          longer.push_back(values);
          longer.back()[param.name] = std::to_string(value);
        }
      }
      all = std::move(longer);
    }
    result_.all = all.size();
    // Every so many-th of too many.
    const size_t stride = (all.size() + kMostCombinations - 1) / kMostCombinations;
    const ParamValues present = Present();
    double least = 0;
    for (size_t i = 0; i < all.size() && !Stopped(); ++i) {
      if (i % stride != 0 && all[i] != present) continue;
      if (options_.predicting)
        options_.predicting(static_cast<double>(i) / static_cast<double>(all.size()));
      const auto other = TryAlternative(request_, all[i]);
      if (!other || !FitsCaches(other->timeline)) continue;
      predicted_[all[i]] = other->timeline.seconds;
      if (least == 0 || other->timeline.seconds < least) least = other->timeline.seconds;
    }
    if (options_.predicting) options_.predicting(1);
    std::erase_if(predicted_, [&](const auto& entry) {
      return entry.first != present && entry.second > least * kSlack;
    });
    result_.kept = predicted_.size();
  }

  bool FitsCaches(const Timeline& timeline) const {
    int64_t bytes = 0;  // of a step's blocks
    for (const TimelineOperand& operand : timeline.operands)
      bytes += operand.memory_bytes / std::max<int64_t>(operand.buffers, 1);
    return options_.cache_bytes == 0 || bytes <= options_.cache_bytes;
  }

  void TakePredicted() {
    const ParamValues present = Present();
    for (const auto& [values, seconds] : predicted_) {
      Configuration configuration;
      configuration.set = values;
      configuration.predicted = configuration.seconds = seconds;
      if (values == present) result_.spec = configuration;
      if (result_.best.seconds == 0 || seconds < result_.best.seconds) result_.best = configuration;
      result_.tried.push_back(std::move(configuration));
    }
    if (result_.spec.seconds > 0)
      result_.gain = result_.spec.seconds / result_.best.seconds;
    else  // the spec's own does not fit
      result_.gain = 2 * kWorthwhile;
    if (result_.gain < kWorthwhile) result_.best = result_.spec;
  }

  // This CPU ----------------------------------------------------------------------------------

  /// False when there is nothing more to do.
  bool Measure(Configuration& configuration) {
    if (Stopped()) return false;
    bool known = false;
    if (!watch_.Time(configuration, &known, &result_.error)) return false;
    result_.measured += !known;
    result_.tried.push_back(configuration);
    const bool first = result_.best.seconds == 0;
    if (first || (!configuration.wrong && configuration.seconds < result_.best.seconds))
      result_.best = configuration;
    if (options_.measured)
      options_.measured(static_cast<int>(result_.tried.size()), result_.best,
                        result_.tried.front());
    return true;
  }

  bool IsKnown(const ParamValues& values, bool fixed) const {
    return std::any_of(result_.tried.begin(), result_.tried.end(), [&](const Configuration& c) {
      return c.fixed == fixed && (c.set.empty() ? Present() : c.set) == values;
    });
  }

  /// One param after the other, as long as that makes it faster.
  void Descend(bool fixed) {
    ParamValues at = Present();
    double least = fixed ? 0 : result_.spec.seconds;
    if (fixed && !Try(at, fixed, at, least)) return;
    for (bool better = true; better;) {
      better = false;
      for (const TunedParam& param : params_) {
        if (param.own && !fixed) continue;  // it would change nothing
        const ParamValues from = at;
        for (const int64_t value : param.values) {
          ParamValues values = from;
          values[param.name] = std::to_string(value);
          const double before = least;
          if (!Try(values, fixed, at, least)) return;
          better = better || (least < before && before > 0);
        }
      }
    }
  }

  /// Measures the configuration unless it was dropped; moves `at` there if it is the fastest yet.
  /// False at the end of the budget, which is of configurations or of time.
  bool Try(const ParamValues& values, bool fixed, ParamValues& at, double& least) {
    const auto predicted = predicted_.find(values);
    if (predicted == predicted_.end() || IsKnown(values, fixed)) return true;
    if (static_cast<int>(result_.tried.size()) >= options_.most) return false;
    if (std::chrono::duration<double>(Clock::now() - begin_).count() >= options_.seconds) {
      result_.out_of_time = true;
      return false;
    }
    Configuration configuration;
    configuration.set = values;
    configuration.fixed = fixed;
    configuration.predicted = predicted->second;
    if (!Measure(configuration)) return false;
    if (!configuration.wrong && (least == 0 || configuration.seconds < least)) {
      least = configuration.seconds;
      at = values;
    }
    return true;
  }

  void MeasureSome() {
    if (!Measure(result_.spec)) return;
    const bool some_own = std::any_of(params_.begin(), params_.end(),
                                      [](const TunedParam& param) { return param.own; });
    Descend(/*fixed=*/false);
    if (some_own) Descend(/*fixed=*/true);
    result_.spec = Find(/*of the spec*/ {});
    if (Stopped() || result_.best.set.empty()) return;
    const auto gain = watch_.InTurns(result_.spec, result_.best, &result_.error);
    if (!gain) return;
    result_.gain = *gain;
    if (*gain < kWorthwhile) result_.best = result_.spec;
  }

  Configuration Find(const ParamValues& set) const {
    for (const Configuration& configuration : result_.tried) {
      if (configuration.set == set) return configuration;
    }
    return {};
  }

  using Clock = std::chrono::steady_clock;

  const Clock::time_point begin_ = Clock::now();
  AdviceRequest request_;
  const std::vector<TunedParam>& params_;
  const TuneOptions& options_;
  Stopwatch watch_;
  std::map<ParamValues, double> predicted_;
  TuneResult result_;
};

}  // namespace

TuneResult Tune(const AdviceRequest& request, const std::vector<TunedParam>& params,
                const TuneOptions& options) {
  return Tuner(request, params, options).Run();
}

}  // namespace kiln
