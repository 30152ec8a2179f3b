// `kiln golden`: what is recorded, what is found again, and what is damaged.
#include <string>

#include "tests/catch.h"
#include "tests/cli/compiled.h"

namespace kiln::test {
namespace {

/// The file of a record's array, which is named by what is in it.
std::string Recorded(const Folder& folder, const std::string& start) {
  std::string found;
  for (const auto& entry : fs::directory_iterator(folder / "golden")) {
    const std::string name = entry.path().filename().string();
    if (name.rfind(start, 0) == 0 && name.ends_with(".npy")) found += "golden/" + name;
  }
  return found;
}

TEST_CASE("what is recorded is found again by every engine") {
  const Folder folder;
  WriteText(folder / "shifted.yaml", kShifted);
  const Shown recorded = Cached("golden record shifted.yaml", folder);
  INFO(recorded.err);
  CHECK(recorded.out ==
        "recorded shifted n=100 by=3 x=random:100\nrecorded shifted n=64 by=0 x=random:200\n");
  CHECK(fs::exists(folder / "golden/shifted.json"));
  CHECK(Recorded(folder, "shifted.1.o.").size() ==
        std::string("golden/shifted.1.o..npy").size() + 12);
  const Shown checked = Cached("golden check shifted.yaml", folder);
  INFO(checked.err);
  CHECK(checked.status == 0);
  CHECK(Contains(checked.out,
                 "shifted n=64 by=0 x=random:200\n"
                 "  interpret: `o` equal\n"
                 "  direct, 1 core: `o` equal\n"
                 "  direct, 2 cores: `o` has the bits of direct, 1 core\n"
                 "  emulate, 1 core: `o` has the bits of direct, 1 core\n"
                 "  emulate, 2 cores: `o` has the bits of direct, 1 core\n"));

  // Another spec under the same name computes something else, or from something else.
  std::string changed = kShifted;
  changed.replace(changed.find("* 2"), 3, "* 3");
  WriteText(folder / "shifted.yaml", changed);
  const Shown differs = Cached("golden check shifted.yaml --mode=interpret", folder);
  CHECK(differs.status == 1);
  CHECK(
      Contains(differs.err, "interpret: error[golden]: `o` 100 of 100 elements differ; the worst"));
  changed.replace(changed.find("n: 64"), 5, "n: 65");
  WriteText(folder / "shifted.yaml", changed);
  CHECK(Contains(Cached("golden check shifted.yaml --mode=interpret", folder).err,
                 "the spec's golden sizes are not those that were recorded"));
}

TEST_CASE("hashes are enough for the oracle, which then stands for the arrays") {
  const Folder folder;
  WriteText(folder / "shifted.yaml", kShifted);
  CHECK(Cached("golden record shifted.yaml --hashes -o there", folder).status == 0);
  CHECK(std::distance(fs::directory_iterator(folder / "there"), {}) == 1);
  const Shown checked = Cached("golden check shifted.yaml -o there --mode=direct", folder);
  INFO(checked.err);
  CHECK(checked.status == 0);
  CHECK(Contains(checked.out, "interpret: `o` has the recorded hash"));
  CHECK(Contains(checked.out, "direct, 1 core: `o` equal"));
}

TEST_CASE("records that are missing or damaged are missed by name") {
  const Folder folder;
  WriteText(folder / "shifted.yaml", kShifted);
  const std::string check = "golden check shifted.yaml --mode=interpret";
  CHECK(Contains(Cached(check, folder).err, "nothing is recorded in `golden/shifted.json`"));
  Cached("golden record shifted.yaml", folder);
  const std::string first = Recorded(folder, "shifted.0.");
  WriteText(folder / first, ReadText(folder / Recorded(folder, "shifted.1.")));
  const Shown swapped = Cached(check, folder);
  CHECK(swapped.status == 2);
  CHECK(Contains(swapped.err, first + " is not what was recorded"));
  WriteText(folder / "golden/shifted.json", "{");
  CHECK(Cached(check, folder).status == 2);
  WriteText(folder / "none.yaml", "kernel: none\noutputs:\n  o: f32[n]\nbody: o = 1\n");
  CHECK(Contains(Cached("golden record none.yaml", folder).err, "has no golden sizes"));
}

}  // namespace
}  // namespace kiln::test
