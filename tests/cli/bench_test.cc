// `kiln bench`: what it prints, but for how fast this machine is.
#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "tests/catch.h"
#include "tests/cli/tool.h"

namespace kiln::test {
namespace {

using Json = nlohmann::json;

constexpr const char* kDots =
    "kernel: dots\n"
    "params: {b: 32, T: f32}\n"
    "grid: {i: \"cdiv(m, b)\"}\n"
    "dimension_semantics: parallel\n"
    "scalars: {by: i32}\n"
    "inputs:\n"
    "  x: {array: \"T[m, k]\", block: \"b, all\", index: \"i, 0\"}\n"
    "  y: {array: \"T[k, n]\"}\n"
    "outputs:\n  z: {array: \"T[m, n]\", block: \"b, all\", index: \"i, 0\"}\n"
    "body: |\n  z = T(dot(x, y) + f32(by))\n";

Folder& DotSpecs() {
  static Folder folder;
  WriteText(folder / "dots.yaml", kDots);
  return folder;
}

Shown Bench(const std::string& arguments) {
  return Shell("XDG_CACHE_HOME='" + (fs::path(KILN_TOOL).parent_path() / "test-cache").string() +
                   "' kiln bench dots.yaml " + arguments,
               DotSpecs().path());
}

TEST_CASE("a bench prints the work of a call, its rates, and what the machine could do") {
  const Shown shown = Bench("--dims m=100,n=48,k=16 by=1 --cores=1 --rounds=5 --json");
  INFO(shown.err);
  REQUIRE(shown.status == 0);
  const Json json = Json::parse(shown.out);
  CHECK(json["kernel"] == "dots");
  CHECK(json["mode"] == "direct");
  CHECK(json["cores"] == 1);
  CHECK(json["calls"] == 5);
  CHECK(json["steps"] == 4);
  CHECK(json["flops"] == 2 * 100 * 48 * 16);
  CHECK(json["flops_of"] == "product");
  // Each byte once, though a block of y is copied for a step and the scalar is a word of SMEM.
  CHECK(json["bytes"] == 4 * (100 * 16 + 16 * 48 + 100 * 48) + 4);
  const Json& seconds = json["seconds"];
  CHECK(seconds["min"].get<double>() > 0);
  CHECK(seconds["min"].get<double>() <= seconds["median"].get<double>());
  CHECK(seconds["median"].get<double>() <= seconds["max"].get<double>());
  const double rate = json["flops"].get<double>() / seconds["median"].get<double>();
  CHECK(std::abs(json["flops_per_second"].get<double>() / rate - 1) < 1e-9);
  CHECK(json["peak"]["flops_per_second"].get<double>() > 1e9);
  CHECK(json["peak"]["bytes_per_second"].get<double>() > 1e8);

  const Json& limit = json["limit"];
  CHECK(std::abs(limit["peak"].get<double>() * json["peak"]["flops_per_second"].get<double>() /
                     json["flops_per_second"].get<double>() -
                 1) < 1e-9);
  double share = 0;
  for (const char* of : {"peak", "memory", "latency"})
    share = std::max(share, limit[of].get<double>());
  CHECK(limit["share"] == share);
  const std::string binds = limit["binds"];
  if (share < 0.6)
    CHECK(binds == "instructions");
  else
    CHECK(limit[binds] == share);
}

TEST_CASE("the table has a line for each of them, and the emulator has one, too") {
  for (const std::string mode : {"direct", "emulate"}) {
    const Shown shown = Bench("m=64 n=16 k=16 by=0 --rounds=2 --cores=2 --mode=" + mode);
    INFO(shown.err);
    CHECK(shown.status == 0);
    const std::string engine = mode == "direct" ? "direct" : "emulated";
    CHECK(Contains(shown.out, "dots, " + engine + " on "));
    for (const char* line :
         {"\n  time      ", ", 2 calls\n", "\n  rate      ", ": f32 out of registers",
          "\n  memory    ", "\n  limit     ", " of the peak", "calls and steps ", "\n  a step    ",
          "2 grid steps (i=2)", "\n  peaks     ", " ago ", "other programs used "}) {
      INFO(line);
      CHECK(Contains(shown.out, line));
    }
  }
}

TEST_CASE("what is missing for a bench is an error before anything is compiled") {
  const Shown size = Bench("m=64 n=16 by=0");
  CHECK(size.status == 2);
  CHECK(Contains(size.err, "hint: give its dimensions: k="));
  const Shown scalar = Bench("m=64 n=16 k=16");
  CHECK(scalar.status == 1);
  CHECK(Contains(scalar.err, "error[call]: "));
  CHECK(Contains(scalar.err, "by"));
  const Shown machine = Bench("m=64 n=16 k=16 by=0 --machine=v5e");
  CHECK(machine.status == 2);
  CHECK(Contains(machine.err, "--machine has no meaning with --mode=direct"));
}

TEST_CASE("peaks that were measured on a busy machine, or are beaten, are measured again") {
  const Folder cache;
  const std::string before = "XDG_CACHE_HOME='" + cache.path().string() + "' kiln ";
  const auto machine = [&] {
    const Shown shown = Shell(before + "machine --json --cores=1");
    INFO(shown.err);
    REQUIRE(shown.status == 0);
    return Json::parse(shown.out)["peaks"];
  };
  machine();
  const auto path = fs::directory_iterator(cache.path() / "kiln/peaks")->path();
  const auto keep = [&](double others, int64_t measured) {
    Json kept = Json::parse(ReadText(path));
    kept["f32"] = 1.0;
    kept["others"] = others;
    kept["measured"] = measured;
    WriteText(path, kept.dump());
  };
  keep(0, 1000);
  Json peaks = machine();
  CHECK(peaks["f32"] == 1.0);  // for ever, as far as anybody knows
  CHECK(peaks["measured"] == 1000);
  keep(1000, 1000);
  peaks = machine();
  CHECK(peaks["f32"].get<double>() > 1e9);
  CHECK(peaks["measured"] > 1000);
  CHECK(peaks["others"].get<double>() < 1000);

  keep(0, 1000);
  const Shown shown =
      Shell(before + "bench dots.yaml --dims m=100,n=48,k=16 by=1 --cores=1 --rounds=5 --json",
            DotSpecs().path());
  INFO(shown.err);
  REQUIRE(shown.status == 0);
  const Json json = Json::parse(shown.out);
  CHECK(json["peak"]["flops_per_second"].get<double>() > 1e9);
  CHECK(json["peak"]["measured"] > 1000);
  CHECK(json.contains("others"));
}

TEST_CASE("`kiln machine` prints what kernels take of the CPU") {
  const std::string machine = "XDG_CACHE_HOME='" +
                              (fs::path(KILN_TOOL).parent_path() / "test-cache").string() +
                              "' kiln machine --no-peaks";
  const Shown shown = Shell(machine + " --json");
  INFO(shown.err);
  REQUIRE(shown.status == 0);
  const Json json = Json::parse(shown.out);
  CHECK_FALSE(json["target"].get<std::string>().empty());
  CHECK(json["vector_bytes"] >= 16);
  CHECK(json["l1_bytes"] >= 8 << 10);
  CHECK(json["last_cache_bytes"] >= json["l2_bytes"]);
  CHECK(json["kc"].get<int>() % 8 == 0);
  CHECK(json.count("peaks") == 0);

  const Shown text = Shell(machine);
  REQUIRE(text.status == 0);
  for (const char* line : {"  instructions ", "  last cache ", "  MC, NC, KC "})
    CHECK(Contains(text.out, line));
  CHECK(Shell("kiln machine --cores=0").status == 2);
}

}  // namespace
}  // namespace kiln::test
