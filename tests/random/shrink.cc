#include "tests/random/shrink.h"

#include <algorithm>
#include <chrono>
#include <set>

#include "tests/random/child.h"
#include "tests/random/walk.h"

namespace kiln::soak {
namespace {

using Block = std::vector<Statement>;

class Candidates {
 public:
  explicit Candidates(const Draft& draft) : draft_(draft) {}

  std::vector<Draft> All() {
    for (Block Draft::*block : {&Draft::body, &Draft::epilogue}) {
      Statements(block);
      Terms(block);
    }
    Lists();
    Operands();
    Axes();
    Sizes();
    return std::move(found_);
  }

 private:
  template <class Change>
  void Add(const Change& change) {
    Draft smaller = draft_;
    change(smaller);
    found_.push_back(std::move(smaller));
  }

  void Statements(Block Draft::*of) {
    std::vector<size_t> sizes;
    Draft copy = draft_;
    VisitBlocks(copy.*of, [&](Block& block) { sizes.push_back(block.size()); });
    for (size_t b = 0; b < sizes.size(); ++b) {
      for (size_t s = 0; s < sizes[b]; ++s) {
        for (const int how : {0, 1, 2}) {
          Add([&](Draft& smaller) { ChangeStatement(smaller.*of, b, s, how); });
        }
      }
    }
  }

  /// Without it, or with its block or its `else` in its place.
  static void ChangeStatement(Block& blocks, size_t number, size_t at, int how) {
    size_t seen = 0;
    Block* found = nullptr;
    VisitBlocks(blocks, [&](Block& block) {
      if (seen++ == number) found = &block;
    });
    const Statement statement = (*found)[at];
    found->erase(found->begin() + static_cast<long>(at));
    const Block& inner = how == 1 ? statement.body : how == 2 ? statement.orelse : Block();
    found->insert(found->begin() + static_cast<long>(at), inner.begin(), inner.end());
  }

  void Terms(Block Draft::*of) {
    size_t count = 0;
    Draft copy = draft_;
    std::vector<size_t> args;
    VisitTerms(copy.*of, [&](Term& term) {
      args.push_back(term.args.size());
      ++count;
    });
    for (size_t t = 0; t < count; ++t) {
      for (size_t a = 0; a < args[t]; ++a) {
        Add([&](Draft& smaller) {
          ChangeTerm(smaller.*of, t, [&](Term& term) {
            const Term arg = term.args[a];
            term = arg;
          });
        });
      }
      for (const char* literal : {"1", "true", "f32(1)"}) {
        Add([&](Draft& smaller) {
          ChangeTerm(smaller.*of, t, [&](Term& term) { term = {literal, {}}; });
        });
      }
    }
  }

  static void ChangeTerm(Block& block, size_t number, const std::function<void(Term&)>& change) {
    size_t seen = 0;
    Term* found = nullptr;
    VisitTerms(block, [&](Term& term) {
      if (seen++ == number) found = &term;
    });
    change(*found);
  }

  template <class T>
  void Without(std::vector<T> Draft::*list) {
    for (size_t i = 0; i < (draft_.*list).size(); ++i)
      Add([&](Draft& smaller) {
        (smaller.*list).erase((smaller.*list).begin() + static_cast<long>(i));
      });
  }

  void Lists() {
    if (draft_.outside) Add([](Draft& smaller) { smaller.outside.reset(); });
    Without(&Draft::params);
    Without(&Draft::dims);
    Without(&Draft::require);
    Without(&Draft::lets);
    Without(&Draft::arguments);
    Without(&Draft::prefetch);
    Without(&Draft::scalars);
    Without(&Draft::prepare);
    Without(&Draft::scratch);
    Without(&Draft::operands);
    Without(&Draft::extra);
  }

  void Operands() {
    for (size_t o = 0; o < draft_.operands.size(); ++o) {
      const OperandDraft& operand = draft_.operands[o];
      if (!operand.alternatives.empty())
        Add([&](Draft& smaller) { smaller.operands[o].alternatives.clear(); });
      for (size_t k = 0; k < operand.keys.size(); ++k) {
        Add([&](Draft& smaller) {
          auto& keys = smaller.operands[o].keys;
          keys.erase(keys.begin() + static_cast<long>(k));
        });
      }
      Add([&](Draft& smaller) { smaller.fills[operand.name] = Fill(); });
    }
  }

  void Axes() {
    for (size_t a = 0; a < draft_.axes.size(); ++a) {
      Add([&](Draft& smaller) {
        const AxisDraft axis = smaller.axes[a];
        smaller.axes.erase(smaller.axes.begin() + static_cast<long>(a));
        ReplaceEverywhere(smaller, "first(" + axis.name + ")", "true");
        ReplaceEverywhere(smaller, axis.name, "0");
      });
      if (draft_.axes[a].parallel) Add([&](Draft& smaller) { smaller.axes[a].parallel = false; });
    }
  }

  void Sizes() {
    for (const auto& entry : draft_.sizes) {
      const std::string& name = entry.first;
      const int64_t size = entry.second;
      for (const int64_t less : {size / 2, size - 1}) {
        if (less > 0) Add([&](Draft& smaller) { smaller.sizes[name] = less; });
      }
    }
    for (size_t p = 0; p < draft_.params.size(); ++p) {
      const int64_t value = std::atoll(draft_.params[p].value.c_str());
      for (const int64_t less : {value / 2, value - 1}) {
        if (less > 0) Add([&](Draft& smaller) { smaller.params[p].value = std::to_string(less); });
      }
    }
  }

  const Draft& draft_;
  std::vector<Draft> found_;
};

/// By the text of the spec, and the sizes of a call.
size_t SizeOf(const Draft& draft) {
  size_t size = Write(draft).size() * 8;
  for (const auto& [name, value] : draft.sizes) size += static_cast<size_t>(value);
  for (const Key& param : draft.params)
    size += static_cast<size_t>(std::max(0, std::atoi(param.value.c_str())));
  return size;
}

bool IsValid(const Draft& draft) {
  const Outcome outcome = RunInChild(10, [&]() -> std::string {
    const auto of = Prepare(draft);
    return of->binding && !of->found.HasErrors() ? "valid" : "";
  });
  return outcome.text == "valid";
}

}  // namespace

std::vector<Draft> Smaller(const Draft& draft) { return Candidates(draft).All(); }

Draft Shrink(Draft draft, const Verdict& verdict, const Toolchain& tools,
             const ShrinkOptions& options) {
  using Clock = std::chrono::steady_clock;
  const auto end = Clock::now() + std::chrono::duration<double>(options.seconds);
  // As many as two headers' worth of compiling: a failure among them is a round saved.
  constexpr size_t kAtOnce = 16;
  const bool compiles = verdict.kind != "died in the generator" && verdict.kind != "not generated";
  std::set<std::string> tried;
  for (bool smaller = true; smaller && Clock::now() < end;) {
    smaller = false;
    std::vector<Draft> candidates = Smaller(draft);
    std::stable_sort(candidates.begin(), candidates.end(),
                     [](const Draft& a, const Draft& b) { return SizeOf(a) < SizeOf(b); });
    std::vector<Job> jobs;
    for (size_t c = 0; c <= candidates.size() && !smaller && Clock::now() < end; ++c) {
      if (c < candidates.size()) {
        std::string key = Write(candidates[c]);
        for (const auto& [name, size] : candidates[c].sizes) key += name + std::to_string(size);
        for (const auto& [name, fill] : candidates[c].fills)
          key += std::to_string(static_cast<int>(fill.kind));
        if (SizeOf(candidates[c]) > SizeOf(draft) || !tried.insert(key).second) continue;
        if (compiles && !IsValid(candidates[c])) continue;
        jobs.push_back({c, candidates[c]});
      }
      if (jobs.empty() || (jobs.size() < kAtOnce && c < candidates.size())) continue;
      for (const Result& result :
           RunBatch(jobs, options.folder + "/shrink", tools, options.flavour)) {
        if (result.verdict.kind != verdict.kind || smaller) continue;
        draft = candidates[result.number];
        smaller = true;
      }
      jobs.clear();
    }
    if (options.progress) options.progress(Write(draft).size());
  }
  return draft;
}

}  // namespace kiln::soak
