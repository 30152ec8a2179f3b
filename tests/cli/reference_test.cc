// What a spec says its outputs ought to be: `kiln check --reference` and the golden records.
#include "generator/data/npy.h"
#include "tests/catch.h"
#include "tests/cli/tool.h"

namespace kiln::test {
namespace {

/// Row sums, with a place for a mistake.
std::string SumsSpec(const std::string& body, const std::string& reference) {
  return "kernel: sums\n"
         "grid:\n"
         "  i: cdiv(m, 8)\n"
         "inputs:\n"
         "  x: {array: \"i32[m, 16]\", block: \"8, all\", index: \"i, 0\"}\n"
         "outputs:\n"
         "  o: {array: \"i32[m]\", block: 8, index: i}\n"
         "body: |\n"
         "  o = " +
         body +
         "\n"
         "golden:\n"
         "  - {m: 20, seed: 1}\n"
         "reference:\n"
         "  o: " +
         reference + "\n";
}

const std::string kRight = SumsSpec("sum(x, axis=1)", "sum(x, axis=1)");
const std::string kWrong = SumsSpec("sum(x, axis=1) + i", "sum(x, axis=1)");

TEST_CASE("a kernel that computes what its reference says is confirmed") {
  const Folder folder;
  WriteText(folder / "sums.yaml", kRight);
  const Shown shown = Kiln("check sums.yaml m=20 --reference", folder.path());
  CHECK(shown.status == 0);
  CHECK(shown.err == "");
  CHECK(shown.out ==
        "sums: fine over the whole grid (i=3)\n"
        "  `o` is what its reference says\n");
}

TEST_CASE("of a kernel that computes something else the worst element is reported") {
  const Folder folder;
  WriteText(folder / "sums.yaml", kWrong);
  CHECK(Kiln("check sums.yaml m=20", folder.path()).status == 0);
  const Shown shown = Kiln("check sums.yaml m=20 x=zeros --reference", folder.path());
  CHECK(shown.status == 1);
  CHECK(shown.out == "");
  CHECK(shown.err ==
        "sums.yaml:13:6: error[reference]: `o` is not this: 12 of 20 elements differ; the worst is "
        "[8]: 1 instead of 0, and 0 is allowed\n"
        "  13 |   o: sum(x, axis=1)\n"
        "     |      ^~~~~~~~~~~~~~\n"
        "  hint: the kernel or its reference is wrong; `kiln explain reference` says where to "
        "look\n");
  const Shown json = Kiln("check sums.yaml m=20 x=zeros --reference --format=json", folder.path());
  CHECK(json.status == 1);
  CHECK(Contains(json.out, "\"rule\": \"reference\""));
}

TEST_CASE("the reference of an output that is absent is left out, and one of no output is not") {
  const Folder folder;
  const std::string keep = "  kept: {if: keep, array: \"i32[m]\", block: 8, index: i}\n";
  std::string spec = SumsSpec("sum(x, axis=1)", "sum(x, axis=1)\n  kept: sum(x, axis=1) + 1");
  spec.insert(spec.find("grid:"), "params: {keep: true}\n");
  spec.insert(spec.find("body:"), keep);
  spec.insert(spec.find("golden:"), "  when keep:\n    kept = sum(x, axis=1)\n");
  WriteText(folder / "sums.yaml", spec);
  const std::string check = "check sums.yaml m=20 x=zeros --reference";
  CHECK(Contains(Kiln(check, folder.path()).err, "error[reference]: `kept` is not this: 20 of 20"));
  const Shown without = Kiln(check + " --set keep=false", folder.path());
  CHECK(without.err == "");
  CHECK(without.out ==
        "sums: fine over the whole grid (i=3)\n"
        "  `o` is what its reference says\n");

  spec.erase(spec.find(keep), keep.size());
  WriteText(folder / "sums.yaml", spec);
  CHECK(Contains(Kiln(check + " --set keep=false", folder.path()).err,
                 "error[name]: `kept` is not an output of this kernel"));
}

TEST_CASE("what is wrong is not recorded, and a record is held against the reference") {
  const Folder folder;
  WriteText(folder / "sums.yaml", kWrong);
  const Shown refused = Kiln("golden record sums.yaml", folder.path());
  CHECK(refused.status == 1);
  CHECK(Contains(refused.err, "error[reference]: `o` is not this: 12 of 20 elements differ"));
  CHECK_FALSE(fs::exists(folder / "golden"));

  WriteText(folder / "sums.yaml", kRight);
  CHECK(Kiln("golden record sums.yaml", folder.path()).status == 0);
  const std::string check = "golden check sums.yaml --mode=interpret";
  const Shown held = Kiln(check, folder.path());
  CHECK(held.status == 0);
  CHECK(Contains(held.out, "  reference: `o` is what its reference says\n"));

  WriteText(folder / "sums.yaml", SumsSpec("sum(x, axis=1)", "sum(x, axis=1) + 1"));
  const Shown differs = Kiln(check, folder.path());
  CHECK(differs.status == 1);
  CHECK(
      Contains(differs.err,
               "  reference: error[golden]: `o` is not what its reference says: 20 of 20 elements "
               "differ; the worst is [0]: "));
}

TEST_CASE("a reference may be recorded arrays beside the spec") {
  const Folder folder;
  std::string spec = SumsSpec("sum(x, axis=1)", "\"@ones.npy\"");
  spec.insert(spec.find("grid:"), "dims: {m: 3}\n");
  spec.replace(spec.find("m: 20"), 5, "m: 3");
  WriteText(folder / "sums.yaml", spec);
  const std::string check = "check sums.yaml x=zeros --reference";
  CHECK(Contains(Kiln(check, folder.path()).err,
                 "error[reference]: the reference of `o`: ones.npy: there is no such file"));
  Array wanted = Array::Zeros(DType::kI32, {3});
  wanted.SetInt(1, 5);
  CHECK(WriteNpy(folder / "ones.npy", wanted).empty());
  CHECK(Contains(Kiln(check, folder.path()).err,
                 "`o` is not this: 1 of 3 elements differ; the worst is [1]: 0 instead of 5"));
  wanted.SetInt(1, 0);
  CHECK(WriteNpy(folder / "ones.npy", wanted).empty());
  CHECK(Kiln(check, folder.path()).status == 0);
  wanted = Array::Zeros(DType::kI32, {4});
  CHECK(WriteNpy(folder / "ones.npy", wanted).empty());
  CHECK(Contains(Kiln(check, folder.path()).err, "`o` is not this: i32[3] instead of i32[4]"));
}

TEST_CASE("a reference knows arrays, prefetch, scalars and params, but no grid") {
  const Folder folder;
  WriteText(
      folder / "pick.yaml",
      "kernel: pick\n"
      "params: {T: bf16, bm: 8, twice: true}\n"
      "prefetch: {ids: \"i32[t]\"}\n"
      "scalars: {add: f32}\n"
      "let: {row: \"ids[s]\"}\n"
      "grid: {s: t}\n"
      "inputs:\n"
      "  x: {array: \"T[m, 16]\", block: \"null, all\", index: \"row, 0\"}\n"
      "outputs:\n"
      "  o: {array: \"f32[t, 16]\", block: \"null, all\", index: \"s, 0\"}\n"
      "body: |\n"
      "  o = (2 * f32(x) if twice else f32(x)) + add\n"
      "reference:\n"
      "  o: dot(f32(expand(ids, 1) == expand(iota([m], 0), 0)), f32(x)) * (2 if twice else 1) "
      "+ add\n");
  for (const char* set : {"", " --set twice=false", " --set T=f32"}) {
    INFO(set);
    const Shown shown = Kiln(
        "check pick.yaml m=5 ids=4,0,0,1 add=0.5 --reference" + std::string(set), folder.path());
    CHECK(shown.err == "");
    CHECK(shown.status == 0);
  }
  const Shown printed = Kiln("show pick.yaml --stage=kernel", folder.path());
  CHECK(Contains(printed.out, "reference o = f64(dot("));
  CHECK(Contains(Kiln("show pick.yaml --stage=spec", folder.path()).out, "reference:\n  o: dot("));
}

}  // namespace
}  // namespace kiln::test
