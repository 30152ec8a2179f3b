// The manifest of recorded results, beside one array that it may name.
#include "generator/cli/golden/golden.h"
#include "generator/data/npy.h"
#include "tests/fuzz/support.h"
#include "tests/fuzz/target.h"

namespace kiln::fuzz {
namespace {

constexpr const char* kArrayFile = "k.0.o.npy";

const Array& Recorded() {
  static const Array array = RandomArray(DType::kF32, {2, 3}, 1);
  return array;
}

bool RunGolden(std::string_view input) {
  static const ScratchFolder folder, first, second;
  static const std::string why = WriteNpy(folder / kArrayFile, Recorded());
  Expect(why.empty(), why);
  WriteText(folder / "k.json", input);
  const Silence silence;
  const auto records = cli::ReadGolden(folder.path().string(), "k");
  if (!records) return false;
  // What is read is written in one form, which reads and writes as itself.
  Expect(cli::WriteGolden(first.path().string(), "k", *records), "a record can be written");
  const auto again = cli::ReadGolden(first.path().string(), "k");
  Expect(again.has_value(), "a record that is written can be read");
  Expect(cli::WriteGolden(second.path().string(), "k", *again), "… and written again");
  Expect(ReadText(first / "k.json") == ReadText(second / "k.json"), "… and says the same");
  return true;
}

std::vector<std::string> GoldenWords() {
  return {"\"kernel\"",
          "\"records\"",
          "\"arguments\"",
          "\"inputs\"",
          "\"outputs\"",
          "\"sha256\"",
          "\"dtype\"",
          "\"shape\"",
          "\"tolerance\"",
          "\"relative\"",
          "\"of_largest\"",
          "\"absolute\"",
          "\"file\"",
          kArrayFile,
          "\"f32\"",
          "[2,3]",
          "null",
          "1e999",
          "-1",
          "18446744073709551616",
          cli::HashOf(Recorded())};
}

std::vector<std::string> GoldenSeeds() {
  std::vector<std::string> seeds = RepositoryTexts("examples/app/golden", ".json");
  const std::string hash = cli::HashOf(Recorded());
  const std::string close = "\"tolerance\":{\"relative\":1e-6,\"of_largest\":0,\"absolute\":0}";
  seeds.push_back(
      "{\"kernel\":\"k\",\"records\":[{\"arguments\":[\"m=2\"],\"inputs\":{\"x\":{"
      "\"sha256\":\"00\"}},\"outputs\":{\"o\":{\"dtype\":\"f32\",\"shape\":[2,3]," +
      close + ",\"file\":\"" + kArrayFile + "\",\"sha256\":\"" + hash +
      "\"},\"p\":{\"dtype\":\"bf16\",\"shape\":[]," + close + ",\"sha256\":\"11\"}}}]}");
  return seeds;
}

}  // namespace

Target GoldenTarget() { return {"golden", 1536, true, &RunGolden, &GoldenWords, &GoldenSeeds}; }

}  // namespace kiln::fuzz
