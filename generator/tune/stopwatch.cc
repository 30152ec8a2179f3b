#include "generator/tune/stopwatch.h"

#include <algorithm>

#include "generator/check/check_spec.h"
#include "generator/data/sha256.h"
#include "generator/native/cache/folder.h"
#include "generator/native/compare.h"

namespace kiln {
namespace {

constexpr int kCalls = 4;  // at least; the first is not counted
constexpr double kSeconds = 0.25;
constexpr int kTurns = 7;
constexpr double kTurnSeconds = 0.05;

double Median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

double MedianAfterFirst(const CallResult& timed) {
  return Median({timed.calls.begin() + (timed.calls.size() > 1 ? 1 : 0), timed.calls.end()});
}

}  // namespace

/// A configuration as a kernel.
struct Stopwatch::Built {
  std::unique_ptr<Kernel> kernel;
  std::optional<Binding> binding;
  Generated text;
  LoadedKernel loaded;
};

Stopwatch::Stopwatch(const AdviceRequest& request, const TuneOptions& options)
    : request_(request),
      options_(options),
      tools_(options.measure ? FindToolchain(&why_) : std::nullopt),
      times_(options.compile.folder.empty() ? TrustedCacheFolder() : options.compile.folder) {}

Stopwatch::~Stopwatch() = default;

std::unique_ptr<Stopwatch::Built> Stopwatch::Generate(const Configuration& configuration,
                                                      std::string* error) {
  if (!tools_) {
    *error = why_;
    return nullptr;
  }
  CheckOptions options = *request_.options;
  for (const auto& [name, value] : configuration.set) {
    std::erase_if(options.set, [&name = name](const auto& given) { return given.first == name; });
    options.set.emplace_back(name, value);
  }
  options.ignore_variants = true;
  options.sizes_follow = true;
  options.fixed_blocks = configuration.fixed;
  auto built = std::make_unique<Built>();
  Diagnostics found;
  built->kernel = CheckSpec(*request_.spec, options, found);
  if (built->kernel) {
    built->kernel->variants.clear();  // the sizes have chosen
    built->binding = Bind(*built->kernel, *request_.inputs, /*partial=*/false, found);
    const std::string& path = built->kernel->source->path();
    if (built->binding && !found.HasErrors() &&
        kiln::Generate(*built->kernel, path.substr(path.rfind('/') + 1), found, &built->text))
      return built;
  }
  *error = found.empty() ? "it cannot be generated" : found.Sorted().front().message;
  return nullptr;
}

bool Stopwatch::Load(Built& built, std::string* error) {
  Compiled compiled;
  built.loaded = LoadKernel(*built.kernel, built.text, *tools_, options_.compile, &compiled);
  if (built.loaded) return true;
  *error = compiled.error + "\n" + compiled.log;
  return false;
}

bool Stopwatch::CallIt(const Built& built, int calls, double seconds, CallResult* timed,
                       std::string* error) {
  CallOptions how;
  how.cores = options_.cores;
  how.in_place = true;
  how.repeat = calls;
  how.seconds = seconds;
  *timed = built.loaded.Call(*built.binding, request_.inputs->arrays, how);
  if (timed->code != 0) *error = "[" + timed->rule + "] " + timed->message;
  return timed->code == 0;
}

/// Everything that a time depends on: the machine and the compiler, the text, sizes and data.
std::string Stopwatch::KeyOf(const std::string& what, const std::vector<const Built*>& of) const {
  std::vector<std::string> parts = {what, tools_->fingerprint, std::to_string(options_.cores),
                                    "in place"};
  for (const Built* built : of) parts.push_back(built->text.source);
  for (const auto& extents : of.front()->binding->arrays) {
    for (const int64_t extent : extents) parts.push_back(std::to_string(extent));
    parts.push_back("");
  }
  for (const Array* host : of.front()->binding->host) {
    if (host)
      parts.emplace_back(reinterpret_cast<const char*>(host->bytes.data()), host->bytes.size());
  }
  return Times::KeyOf(parts);
}

bool Stopwatch::HasRightAnswers(const CallResult& timed, std::string* error, bool* right) {
  if (answers_.empty()) {
    const auto spec = Generate({}, error);
    CallResult call;
    if (!spec || !Load(*spec, error) || !CallIt(*spec, 1, 0, &call, error)) return false;
    answers_ = std::move(call.outputs);
  }
  *right = true;
  for (const Ref& ref : request_.kernel->refs) {
    const auto want = answers_.find(ref.name);
    if (want == answers_.end()) continue;
    const Difference difference =
        Compare(timed.outputs.at(ref.name), want->second, ToleranceOf(*request_.binding, ref));
    *right = *right && difference.elements == 0;
  }
  return true;
}

bool Stopwatch::Time(Configuration& configuration, bool* known, std::string* error) {
  const auto built = Generate(configuration, error);
  if (!built) return false;
  const std::string key = KeyOf("call", {built.get()});
  const auto before = times_.Find(key);
  *known = before.has_value();
  if (before) {
    configuration.wrong = *before < 0;
    configuration.seconds = std::abs(*before);
    return true;
  }
  CallResult timed;
  bool right = true;
  if (!Load(*built, error) || !CallIt(*built, kCalls, kSeconds, &timed, error)) return false;
  if (!configuration.set.empty() && !HasRightAnswers(timed, error, &right)) return false;
  configuration.seconds = MedianAfterFirst(timed);
  configuration.wrong = !right;
  times_.Keep(key, right ? configuration.seconds : -configuration.seconds);
  return true;
}

std::optional<double> Stopwatch::InTurns(const Configuration& a, const Configuration& b,
                                         std::string* error) {
  const auto first = Generate(a, error), second = Generate(b, error);
  if (!first || !second) return std::nullopt;
  const std::string key = KeyOf("in turns", {first.get(), second.get()});
  if (const auto before = times_.Find(key)) return before;
  if (!Load(*first, error) || !Load(*second, error)) return std::nullopt;
  std::vector<double> gains;
  for (int turn = 0; turn < kTurns; ++turn) {
    CallResult one, other;
    if (!CallIt(*first, 2, kTurnSeconds, &one, error) ||
        !CallIt(*second, 2, kTurnSeconds, &other, error))
      return std::nullopt;
    gains.push_back(MedianAfterFirst(one) / MedianAfterFirst(other));
  }
  const double gain = Median(gains);
  times_.Keep(key, gain);
  return gain;
}

}  // namespace kiln
