#include <algorithm>
#include <iostream>

#include "generator/check/check_spec.h"
#include "generator/check/grid/check_grid.h"
#include "generator/cli/golden/golden.h"

namespace kiln::cli {
namespace {

/// The kernels that a command names: one instance, or all.
std::vector<std::string> InstancesOf(const Loaded& loaded) {
  if (!loaded.options.instance.empty() || loaded.spec->instances.empty())
    return {loaded.options.instance};
  std::vector<std::string> names;
  for (const InstanceSpec& instance : loaded.spec->instances) names.push_back(instance.name.name);
  return names;
}

/// Binds sizes and checks the grid; false when something was found, or printed as a usage error.
bool Prepare(GoldenEntry& entry, const GoldenSpec& golden, const LimitOptions& limit, int* status) {
  Loaded& loaded = entry.loaded;
  entry.words = GoldenWords(golden, *loaded.kernel);
  if ((*status = ParseArguments(*loaded.kernel, entry.words, limit, entry.inputs))) return false;
  entry.whole = std::make_unique<Kernel>(*loaded.kernel);
  if (!ChooseSpecialisation(loaded, entry.inputs)) return false;
  entry.binding = Bind(*loaded.kernel, entry.inputs, /*partial=*/false, loaded.diagnostics);
  if (!entry.binding || loaded.diagnostics.HasErrors()) return false;
  Progress progress("checking the grid");
  CheckGrid(*entry.binding, limit.ForGrid(progress), loaded.diagnostics);
  return !loaded.diagnostics.HasErrors();
}

}  // namespace

std::vector<std::string> GoldenWords(const GoldenSpec& golden, const Kernel& kernel) {
  std::vector<std::string> words, given;
  std::string seed = "1";
  int inputs = 0;
  for (const auto& [name, value] : golden.sizes) {
    if (name.name == "seed") {
      seed = value;
      continue;
    }
    words.push_back(name.name + "=" + value);
    given.push_back(name.name);
  }
  for (const Ref& ref : kernel.refs) {
    if (ref.role != Role::kInput || ref.view_of >= 0) continue;
    // Each has values of its own, or a kernel could take one for the other.
    const std::string own = seed + (inputs < 10 ? "0" : "") + std::to_string(inputs);
    ++inputs;
    if (std::find(given.begin(), given.end(), ref.name) == given.end())
      words.push_back(ref.name + "=random:" + own);
  }
  return words;
}

std::optional<std::vector<std::unique_ptr<GoldenEntry>>> GoldenEntries(const SpecOptions& options,
                                                                       int* status) {
  auto loaded = Load(options, Depth::kParse);
  *status = kUsage;
  if (!loaded) return std::nullopt;
  if (!loaded->spec) {
    *status = Report(*loaded, options.format);
    return std::nullopt;
  }
  if (loaded->spec->golden.empty()) {
    UsageError("`" + loaded->source->path() + "` has no golden sizes",
               "add them at its end, for example: golden: [{m: 100, n: 50, seed: 1}]");
    return std::nullopt;
  }
  std::vector<std::unique_ptr<GoldenEntry>> entries;
  for (const std::string& instance : InstancesOf(*loaded)) {
    for (const GoldenSpec& golden : loaded->spec->golden) {
      auto entry = std::make_unique<GoldenEntry>();
      entry->loaded.source = loaded->source;
      entry->loaded.options = loaded->options;
      entry->loaded.options.instance = instance;
      entry->loaded.options.sizes_follow = true;
      entry->loaded.spec = std::make_unique<Spec>(*loaded->spec);
      Loaded& own = entry->loaded;
      own.kernel = CheckSpec(*own.spec, own.options, own.diagnostics);
      *status = kFine;
      if (!own.kernel || !Prepare(*entry, golden, options.limit, status)) {
        if (*status == kFine) *status = Report(own, options.format);
        return std::nullopt;
      }
      entry->name = GeneratedName(*entry->whole);
      entries.push_back(std::move(entry));
    }
  }
  *status = kFine;
  return entries;
}

}  // namespace kiln::cli
