#include "tests/random/batch_run.h"

#include <algorithm>
#include <cstdlib>
#include <sstream>

#include "generator/bind/least_operations.h"
#include "tests/mutants/planted.h"
#include "tests/random/child.h"
#include "tests/random/plant/plant.h"
#include "tests/random/vary.h"

namespace kiln::soak {
namespace {

/// Emulation takes some fifty times as long (tests/cross).
const int kSlower = std::getenv("KILN_EMULATOR") ? 30 : 1;
const int kSecondsToGenerate = 20 * kSlower;
const int kSecondsToRun = 120 * kSlower;

std::string NameOf(size_t job) { return "spec" + std::to_string(job); }

std::string Join(const std::set<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : "\t") + word;
  return text;
}

/// Checks a draft and writes its kernel: what stopped it; or, behind a separator, the name of the
/// generated files and what the spec uses.
constexpr char kSeparator = '\x1f';
const std::string kFault = "fault ";

/// Whether a fault in the planner changes the text.
bool IsChanged(const Kernel& kernel, const std::string& file, const Generated& text) {
  Generated sound;
  Diagnostics ignored;
  no_fault_is_planted = true;
  const bool rendered = Generate(kernel, file, ignored, &sound);
  no_fault_is_planted = false;
  return !rendered || sound.header != text.header || sound.source != text.source;
}

std::string Generate(const Job& job, const std::string& name, const std::string& folder,
                     Which which) {
  Draft draft = job.draft;
  draft.name = name;
  const auto of = Prepare(draft);
  const bool faulty = draft.fault.has_value();
  if (faulty && !of->binding) {
    const Verdict verdict = JudgeFault(draft, *of, {});
    return verdict.kind.empty() ? kSeparator + ("\n" + kFault + draft.fault->kind)
                                : ToText(verdict);
  }
  if (!of->binding || (of->found.HasErrors() && !faulty))
    return ToText(Verdict{"refused " + FirstRule(of->found), Render(of->found, *of->source)});
  // Unoptimised code takes minutes for more, as each engine runs several times.
  constexpr double kMostOperations = 2e7;
  if (LeastOperations(*of->binding).elements > kMostOperations)
    return ToText(Verdict{"refused work", ""});
  Generated text;
  Diagnostics found;
  if (!kiln::Generate(*of->kernel, name + ".yaml", found, &text))
    return ToText(Verdict{"not generated", Render(found, *of->source)});
  if (which == Which::kChanged && !IsChanged(*of->kernel, name + ".yaml", text))
    return kSeparator + std::string("\n");
  const std::string runs = which == Which::kNone ? "" : GeneratedName(*of->kernel);
  if (!runs.empty()) Batch::WriteKernel(folder, *of->kernel, text);
  if (faulty) return kSeparator + runs + "\n" + kFault + draft.fault->kind;
  std::set<std::string> used = EntriesOf(*of->spec, *of->binding);
  if (!draft.variation.empty()) used.insert("varied " + draft.variation);
  return kSeparator + runs + "\n" + Join(used);
}

Verdict RunOne(const Job& job, const std::string& name, const Batch& batch) {
  const Outcome outcome = RunInChild(kSecondsToRun, [&] {
    Draft draft = job.draft;
    draft.name = name;
    const auto of = Prepare(draft);
    const KernelInterface kernel = batch.Find(GeneratedName(*of->kernel));
    return ToText(draft.fault ? JudgeFault(draft, *of, kernel) : Judge(draft, *of, kernel));
  });
  return outcome.died.empty() ? ToVerdict(outcome.text) : Verdict{"died in a kernel", outcome.died};
}

std::set<std::string> Split(const std::string& text) {
  std::set<std::string> words;
  std::istringstream in(text);
  for (std::string word; std::getline(in, word, '\t');) words.insert(word);
  return words;
}

/// On one line.
std::string Escaped(std::string text) {
  std::replace(text.begin(), text.end(), '\n', '\x1e');
  return text;
}

std::string Unescaped(std::string text) {
  std::replace(text.begin(), text.end(), '\x1e', '\n');
  return text;
}

}  // namespace

/// Of the kind that its number asks for, if one of a few drafts has a place for that.
Draft FaultyDraft(uint64_t number, Focus focus) {
  constexpr uint64_t kTries = 10;
  focus.insert(Planters()[FaultOf(number)].needs);
  Draft draft;
  for (uint64_t attempt = 0; attempt < kTries; ++attempt) {
    draft = MakeDraft(number + (attempt << 40), focus);
    draft.seed = number;
    draft.outside.reset();  // faults know keys by where they stand
    if (auto faulty = WithFault(draft, number, /*any=*/attempt + 1 == kTries)) return *faulty;
  }
  return draft;
}

Draft DraftOf(uint64_t number, bool faulty) {
  Focus focus = FocusOf(number);
  if (faulty) return FaultyDraft(number, std::move(focus));
  const Draft draft = MakeDraft(number, focus);
  constexpr uint64_t kVaried = 4;
  const auto asked = focus.lower_bound("varied ");
  const bool vary =
      number % kVaried == 0 || (asked != focus.end() && asked->rfind("varied ", 0) == 0);
  return vary ? Varied(draft, number, focus) : draft;
}

bool IsRefusal(const std::string& kind) {
  return kind.rfind("refused ", 0) == 0 || kind.rfind("diagnostic of both", 0) == 0;
}

std::vector<Result> RunBatch(const std::vector<Job>& jobs, const std::string& folder,
                             const Toolchain& tools, const Flavour& flavour, Which which) {
  Batch batch(folder, tools, flavour);
  std::vector<Result> results(jobs.size());
  std::map<size_t, std::string> names;  // by job
  for (size_t j = 0; j < jobs.size(); ++j) {
    results[j].number = jobs[j].number;
    const Outcome outcome =
        RunInChild(kSecondsToGenerate, [&] { return Generate(jobs[j], NameOf(j), folder, which); });
    if (!outcome.died.empty()) {
      results[j].verdict = {"died in the generator", outcome.died};
    } else if (outcome.text.empty() || outcome.text[0] != kSeparator) {
      results[j].verdict = ToVerdict(outcome.text);
    } else {
      const size_t line = outcome.text.find('\n');
      const std::string generated = outcome.text.substr(1, line - 1);
      if (!generated.empty()) names[j] = generated;  // else there is nothing to run
      results[j].used = Split(outcome.text.substr(line + 1));
    }
  }
  std::map<std::string, std::string> refused;
  std::vector<std::string> all;
  for (const auto& [job, name] : names) all.push_back(name);
  batch.Compile(all, &refused);
  for (const auto& [job, name] : names) {
    const auto log = refused.find(name);
    results[job].verdict = log == refused.end() ? RunOne(jobs[job], NameOf(job), batch)
                                                : Verdict{"does not compile", log->second};
  }
  return results;
}

std::string ToText(const std::vector<Result>& results) {
  std::string text;
  for (const Result& result : results)
    text += std::to_string(result.number) + "\n" + result.verdict.kind + "\n" +
            Escaped(result.verdict.detail) + "\n" + Join(result.used) + "\n";
  return text;
}

std::vector<Result> ToResults(const std::string& text) {
  std::vector<Result> results;
  std::istringstream in(text);
  std::string number, kind, detail, used;
  while (std::getline(in, number) && std::getline(in, kind) && std::getline(in, detail) &&
         std::getline(in, used)) {
    results.push_back({std::stoull(number), {kind, Unescaped(detail)}, Split(used)});
  }
  return results;
}

}  // namespace kiln::soak
