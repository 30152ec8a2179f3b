#include "tests/random/plant/planters.h"

/// Faults of a call, and of the text itself.
namespace kiln::soak {
namespace {

bool RequireBroken(Draft& draft, const Case&, Dice&) {
  if (draft.sizes.empty()) return false;
  draft.require.push_back(draft.sizes.begin()->first + " > 100000");
  return draft.sizes.begin()->first[0] == 'n';
}

bool AssertBroken(Draft& draft, const Case& of, Dice& dice) {
  if (of.binding->StepCount() == 0 || draft.axes.empty()) return false;
  const std::string& axis = dice.Pick(draft.axes).name;
  draft.body.insert(draft.body.begin(),
                    {"assert " + axis + " > 1000, \"there are many\"", {}, {}, {}});
  return true;
}

bool UnknownName(Draft& draft, const Case&, Dice&) {
  draft.body.push_back({"let other = nowhere + 1", {}, {}, {}});
  return true;
}

bool MixedTypes(Draft& draft, const Case&, Dice& dice) {
  draft.body.push_back({dice.Pick({"let other = i32(1) + f32(2)", "let other = u32(1) * i32(2)",
                                   "let other = 1.5 & 3", "let other = exp(i32(2))",
                                   "let other = i32(3) / i32(2)", "let other = mean(iota([4]))"}),
                        {},
                        {},
                        {}});
  return true;
}

bool OtherShapes(Draft& draft, const Case&, Dice& dice) {
  draft.body.push_back(
      {dice.Pick({"let other = iota([3]) + iota([4])", "let other = sum(iota([3]), axis=1)",
                  "let other = dot(f32(iota([2, 3], 0)), f32(iota([2, 3], 0)))",
                  "let other = reshape(iota([6]), [4])",
                  "let other = iota([3, 2], 0).mT + iota([3, 2], 0)"}),
       {},
       {},
       {}});
  return true;
}

bool UnknownKey(Draft& draft, const Case&, Dice& dice) {
  draft
      .operands[static_cast<size_t>(
          dice.Between(0, static_cast<int64_t>(draft.operands.size()) - 1))]
      .keys.push_back({"blok", "1"});
  return true;
}

bool BrokenText(Draft& draft, const Case&, Dice& dice) {
  draft.body.push_back({dice.Pick({"let other = (1 + ", "let = 3", "other ==", "for r in range:",
                                   "when true", "let other = 1 < 2 & 3 < 4"}),
                        {},
                        {},
                        {}});
  return true;
}

bool SplitByYaml(Draft& draft, const Case&, Dice&) {
  draft.scratch.push_back({"split", {{"", "{array: f32[3, 4]}"}}});
  return true;
}

}  // namespace

std::vector<Planter> TextPlanters() {
  return {
      {"call that `require` refuses", {"call"}, RequireBroken},
      {"assertion that does not hold", {"assert"}, AssertBroken},
      {"unknown name", {"name"}, UnknownName},
      {"mixed types", {"type"}, MixedTypes},
      {"shapes that do not fit", {"shape"}, OtherShapes},
      {"unknown key", {"key"}, UnknownKey},
      {"broken text", {"syntax"}, BrokenText},
      {"value that YAML splits", {"yaml-split"}, SplitByYaml},
  };
}

}  // namespace kiln::soak
