#include <algorithm>

#include "tests/random/plant/planters.h"

/// Faults of budgets and of copies by hand.
namespace kiln::soak {
namespace {

bool TooMuchVmem(Draft& draft, const Case&, Dice&) {
  draft.scratch.push_back({"huge", {{"", "f32[2048, 2176]"}}});
  draft.body.push_back({"huge[0, 0] = 1", {}, {}, {}});
  return true;
}

bool TooMuchSmem(Draft& draft, const Case&, Dice&) {
  draft.scratch.push_back({"huge", {{"array", "i32[270000]"}, {"memory", "smem"}}});
  draft.body.push_back({"huge[0] = 1", {}, {}, {}});
  return true;
}

std::string BufferOf(const Statement& copy) {
  const size_t at = copy.text.find("-> ") + 3;
  return copy.text.substr(at, copy.text.find_first_of(",[", at) - at);
}

/// Whether the copy surely moves something.
bool IsOfSomething(const Statement& copy, const Case& of) {
  const int ref = of.kernel->FindRef(BufferOf(copy));
  if (ref < 0 || copy.text.find("most=") != std::string::npos) return false;
  const Shape& view = of.kernel->refs[static_cast<size_t>(ref)].view;
  return std::all_of(view.begin(), view.end(), [&](const Size& extent) {
    return Evaluate(extent, *of.binding).value_or(0) > 0;
  });
}

/// The first copy into a buffer that the body itself waits for: where it stands; -1: none.
int CopyIn(const Draft& draft, const Case& of) {
  if (of.binding->StepCount() == 0) return -1;
  for (size_t s = 0; s < draft.body.size(); ++s) {
    const Statement& statement = draft.body[s];
    if (statement.text.rfind("copy x", 0) == 0 && IsOfSomething(statement, of))
      return static_cast<int>(s);
  }
  return -1;
}

bool NeverWaited(Draft& draft, const Case& of, Dice&) {
  if (of.binding->StepCount() == 0) return false;
  for (size_t s = 0; s < draft.body.size(); ++s) {
    if (draft.body[s].text.rfind("wait ", 0) != 0) continue;
    draft.body.erase(draft.body.begin() + static_cast<long>(s));
    return true;
  }
  return false;
}

bool NeverStarted(Draft& draft, const Case& of, Dice&) {
  const int at = CopyIn(draft, of);
  if (at < 0) return false;
  draft.body.erase(draft.body.begin() + at);
  return true;
}

bool ReadInFlight(Draft& draft, const Case& of, Dice&) {
  const int at = CopyIn(draft, of);
  if (at < 0) return false;
  const std::string buffer = BufferOf(draft.body[static_cast<size_t>(at)]);
  const int ref = of.kernel->FindRef(buffer);
  if (ref < 0) return false;
  const Ref& scratch = of.kernel->refs[static_cast<size_t>(ref)];
  std::string element = buffer;
  for (size_t d = 0; d < scratch.view.size(); ++d) element += (d == 0 ? "[0" : ", 0");
  if (!scratch.view.empty()) element += "]";
  if (!AddWitness(draft, std::string(Name(scratch.dtype)), {"wit = $0", {{element, {}}}, {}, {}}))
    return false;
  const Statement store = draft.body.back();
  draft.body.pop_back();
  draft.body.insert(draft.body.begin() + at + 1, store);
  return true;
}

bool WrittenInFlight(Draft& draft, const Case& of, Dice&) {
  const int at = CopyIn(draft, of);
  if (at < 0) return false;
  const std::string buffer = BufferOf(draft.body[static_cast<size_t>(at)]);
  const int ref = of.kernel->FindRef(buffer);
  if (ref < 0) return false;
  const bool logical = of.kernel->refs[static_cast<size_t>(ref)].dtype == DType::kBool;
  draft.body.insert(draft.body.begin() + at + 1,
                    {buffer + (logical ? " = true" : " = 1"), {}, {}, {}});
  return true;
}

}  // namespace

std::vector<Planter> MemoryPlanters() {
  return {
      {"VMEM over budget", {"tier"}, TooMuchVmem},
      {"SMEM over budget", {"tier"}, TooMuchSmem},
      {"semaphore never waited", {"sync"}, NeverWaited, "statement copy"},
      // Nothing sets the buffer any more, which is what the checker finds.
      {"semaphore never signalled", {"sync", "undefined"}, NeverStarted, "statement copy"},
      {"read before wait", {"sync"}, ReadInFlight, "statement copy"},
      {"slot overwritten in flight", {"sync"}, WrittenInFlight, "statement copy"},
  };
}

}  // namespace kiln::soak
