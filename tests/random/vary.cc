#include "tests/random/vary.h"

#include <algorithm>
#include <memory>

#include "tests/random/dice.h"
#include "tests/random/walk.h"

namespace kiln::soak {
namespace {

bool VaryBuffers(Draft& draft, Dice& dice) {
  for (OperandDraft& operand : draft.operands) {
    bool stays = false;  // in HBM, without a pipeline
    for (const Key& key : operand.keys)
      stays = stays || (key.name == "memory" && key.value == "any");
    if (stays) continue;
    auto& keys = operand.keys;
    keys.erase(std::remove_if(keys.begin(), keys.end(),
                              [](const Key& key) { return key.name == "buffers"; }),
               keys.end());
    keys.push_back({"buffers", std::to_string(dice.Between(1, 4))});
  }
  return true;
}

bool RenameAxes(Draft& draft, Dice&) {
  // Their alphabetical order turns around, too.
  size_t left = draft.axes.size();
  for (AxisDraft& axis : draft.axes) {
    const std::string name = "walk" + std::to_string(left--);
    ReplaceEverywhere(draft, axis.name, name);
    axis.name = name;
  }
  return !draft.axes.empty();
}

bool SwapParallelAxes(Draft& draft, Dice& dice) {
  std::vector<size_t> places;
  for (size_t a = 0; a + 1 < draft.axes.size(); ++a) {
    if (draft.axes[a].parallel && draft.axes[a + 1].parallel) places.push_back(a);
  }
  if (places.empty()) return false;
  const size_t at = dice.Pick(places);
  std::swap(draft.axes[at], draft.axes[at + 1]);
  return true;
}

/// Functions of elements, whatever stands beside them.
bool IsElementwise(const Term& term) {
  for (const char* word :
       {"[",         "iota",    "sum",    "prod",    "mean",   "max($0, axis", "min($0, axis",
        "max($0)",   "min($0)", "any",    "all",     "argm",   "cum",          "dot",
        "transpose", "reshape", "expand", "squeeze", "concat", "roll",         "broadcast",
        "flip",      "repeat",  "sort",   "top_k",   "first",  "last",         "steps",
        ".T",        ".mT"}) {
    if (term.text.find(word) != std::string::npos) return false;
  }
  return true;
}

/// Whether an index map has the axis at most once, as it is: "a0, (a1 + 1) % 2" has a0 so.
bool WalksPlainly(const std::string& index, const std::string& axis) {
  const size_t at = index.find(axis);
  if (at == std::string::npos) return true;
  const size_t end = at + axis.size();
  const bool alone = (at == 0 || (at >= 2 && index.substr(at - 2, 2) == ", ")) &&
                     (end == index.size() || index[end] == ',');
  return alone && index.rfind(axis) == at;
}

bool VaryBlock(Draft& draft, Dice& dice) {
  std::vector<std::pair<size_t, size_t>> found;  // a param, and the axis that it cuts
  const bool refers_alone = std::all_of(draft.extra.begin(), draft.extra.end(),
                                        [](const auto& key) { return key.first == "reference"; });
  bool elementwise =
      refers_alone && draft.instances.empty() && draft.prefetch.empty() && draft.lets.empty();
  VisitTerms(draft.body, [&](Term& term) { elementwise = elementwise && IsElementwise(term); });
  VisitBlocks(draft.body, [&](std::vector<Statement>& block) {
    for (const Statement& statement : block)
      elementwise = elementwise && statement.text.find_first_of("[") == std::string::npos &&
                    statement.text.rfind("for", 0) != 0 && statement.text.rfind("while", 0) != 0;
  });
  for (size_t p = 0; p < draft.params.size() && elementwise && draft.epilogue.empty(); ++p) {
    const std::string& param = draft.params[p].name;
    for (size_t a = 0; a < draft.axes.size(); ++a) {
      const AxisDraft& axis = draft.axes[a];
      const bool cuts = axis.steps.rfind("cdiv(", 0) == 0 &&
                        axis.steps.find(", " + param + ")") != std::string::npos;
      // It is walked, block by block, by all that have it.
      bool plain = true;
      for (const OperandDraft& operand : draft.operands) {
        for (const Key& key : operand.keys) {
          if (key.name == "index") plain = plain && WalksPlainly(key.value, axis.name);
          if (key.name == "block") plain = plain && key.value.find("element") == std::string::npos;
        }
      }
      // Accumulators would start anew at other steps.
      const bool all_walk = std::all_of(
          draft.operands.begin(), draft.operands.end(), [&](const OperandDraft& operand) {
            return !operand.output ||
                   std::any_of(operand.keys.begin(), operand.keys.end(), [&](const Key& key) {
                     return key.name == "index" && key.value.find(axis.name) != std::string::npos;
                   });
          });
      if (cuts && plain && all_walk && !BodyMentions(draft, param) &&
          !BodyMentions(draft, axis.name))
        found.emplace_back(p, a);
    }
  }
  if (found.empty()) return false;
  const auto [p, a] = dice.Pick(found);
  const std::string steps = draft.axes[a].steps;
  const std::string dim = steps.substr(5, steps.find(',') - 5);
  const int64_t size = draft.sizes[dim], block = std::atoll(draft.params[p].value.c_str());
  std::vector<int64_t> blocks;
  // One that cuts where nothing was cut would leave a ragged edge that the body does not expect.
  for (int64_t other = 1; other <= std::min<int64_t>(2 * size, 96); ++other) {
    if (other != block && (size % block != 0 || size % other == 0) &&
        (size + other - 1) / other <= 40)
      blocks.push_back(other);
  }
  if (blocks.empty()) return false;
  draft.params[p].value = std::to_string(dice.Pick(blocks));
  return true;
}

}  // namespace

Draft Varied(const Draft& draft, uint64_t number, const Focus& focus) {
  using Vary = bool (*)(Draft&, Dice&);
  constexpr Vary kWays[] = {VaryBlock, SwapParallelAxes, VaryBuffers, RenameAxes};
  constexpr const char* kNames[] = {"other block", "parallel axes swapped", "other buffers",
                                    "axes renamed"};
  Dice dice(number ^ 0x7A91);
  size_t first = static_cast<size_t>(dice.Between(0, 3));
  for (size_t w = 0; w < std::size(kNames); ++w) {
    if (focus.count(std::string("varied ") + kNames[w])) first = w;
  }
  for (size_t w = 0; w < std::size(kWays); ++w) {
    const size_t way = (first + w) % std::size(kWays);
    Draft varied = draft;
    if (!kWays[way](varied, dice)) continue;
    varied.variation = kNames[way];
    varied.origin = std::make_shared<const Draft>(draft);
    return varied;
  }
  return draft;
}

}  // namespace kiln::soak
