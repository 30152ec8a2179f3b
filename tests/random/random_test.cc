// The parts of the soak: random specs, what judges them, and what makes them smaller.
#include <unistd.h>

#include <algorithm>
#include <set>

#include "tests/catch.h"
#include "tests/random/batch_run.h"
#include "tests/random/child.h"
#include "tests/random/plant/plant.h"
#include "tests/random/shrink.h"

namespace kiln::soak {
namespace {

TEST_CASE("Dice are the same on every machine") {
  Dice dice(1);
  CHECK(dice.Bits() == 0x910A2DEC89025CC1u);
  CHECK(dice.Bits() == 0xBEEB8DA1658EEC67u);
  CHECK(Dice(7).Between(0, 99) == Dice(7).Between(0, 99));
  for (int i = 0; i < 100; ++i) {
    const int64_t number = dice.Between(-2, 3);
    CHECK((number >= -2 && number <= 3));
  }
  CHECK(Dice(3).Weighted({0, 1, 0}) == 1);
}

TEST_CASE("A number is a spec, and always the same one") {
  std::set<std::string> texts;
  for (uint64_t number = 1; number <= 50; ++number) {
    const std::string text = Write(DraftOf(number, false));
    INFO(text);
    CHECK(text == Write(DraftOf(number, false)));
    texts.insert(text);
  }
  CHECK(texts.size() == 50);
}

TEST_CASE("Nearly all random specs are valid") {
  int refused = 0;
  constexpr uint64_t kSpecs = 200;
  for (uint64_t number = 1; number <= kSpecs; ++number) {
    const auto of = Prepare(DraftOf(number, false));
    if (of->binding && !of->found.HasErrors()) continue;
    ++refused;
    WARN(Render(of->found, *of->source));
  }
  CHECK(refused * 20 < static_cast<int>(kSpecs));
}

TEST_CASE("Everything that specs are asked to use is an entry of the report") {
  const std::vector<std::string>& entries = Entries();
  std::set<std::string> asked;
  for (uint64_t number = 0; number < entries.size(); ++number) {
    for (const std::string& entry : FocusOf(number)) {
      CHECK(std::binary_search(entries.begin(), entries.end(), entry));
      asked.insert(entry);
    }
  }
  CHECK(asked.size() == entries.size());
}

TEST_CASE("The way a child ended is known") {
  CHECK(RunInChild(10, [] { return std::string("all of it"); }).text == "all of it");
  CHECK(RunInChild(10, []() -> std::string { _exit(3); }).died == "with exit status 3");
  CHECK(RunInChild(1, []() -> std::string {
          pause();
          return "";
        }).died == "as it took too long");
  const Outcome thrown = RunInChild(10, []() -> std::string { throw std::runtime_error("no"); });
  CHECK(thrown.died == "with exit status 1: exception: no\n");
  const std::string long_text(1 << 20, 'x');
  CHECK(RunInChild(10, [&] { return long_text; }).text == long_text);
}

TEST_CASE("Results survive the way from another process") {
  const std::vector<Result> results = {{7, {"engines differ", "two\nlines\n"}, {"a b", "c"}},
                                       {8, {"", ""}, {}}};
  const std::vector<Result> back = ToResults(ToText(results));
  REQUIRE(back.size() == 2);
  CHECK(back[0].number == 7);
  CHECK(back[0].verdict.kind == "engines differ");
  CHECK(back[0].verdict.detail == "two\nlines\n");
  CHECK(back[0].used == results[0].used);
  CHECK(back[1].verdict.kind == "");
  CHECK(back[1].used.empty());
}

TEST_CASE("What is smaller is another spec with the same parts or fewer") {
  const Draft draft = DraftOf(3, false);
  const std::vector<Draft> smaller = Smaller(draft);
  CHECK(smaller.size() > 10);
  int shorter = 0;
  for (const Draft& one : smaller) shorter += Write(one).size() < Write(draft).size();
  CHECK(shorter > 5);
}

TEST_CASE("Each kind of fault finds a place among a few specs") {
  std::set<std::string> planted;
  for (uint64_t number = 0; number < 40 * Planters().size(); ++number) {
    const Draft draft = DraftOf(number, true);
    if (draft.fault) planted.insert(draft.fault->kind);
  }
  for (const Planter& planter : Planters()) {
    INFO(planter.kind);
    CHECK(planted.count(planter.kind) == 1);
  }
}

}  // namespace
}  // namespace kiln::soak
