// `kiln run` with compiled kernels.
#include "tests/cli/compiled.h"

#include <string>
#include <utility>

#include "generator/data/npy.h"
#include "tests/catch.h"

namespace kiln::test {
namespace {

Folder& ShiftedSpecs() {
  static Folder folder;
  WriteText(folder / "shifted.yaml", kShifted);
  return folder;
}

std::string Bytes(const std::string& path) { return ReadText(path); }

TEST_CASE("every engine writes the same arrays") {
  const std::string run = "run shifted.yaml x=random:1 n=1000 by=3 -o ";
  for (const char* engine : {"interpret", "direct", "emulate"}) {
    const Shown shown = Cached(run + engine + " --mode=" + engine, ShiftedSpecs());
    INFO(shown.err);
    CHECK(shown.status == 0);
    CHECK(Contains(shown.out, "16 grid steps (i=16) in "));
    CHECK(Contains(shown.out, "  output    o             f32[1000]"));
  }
  const std::string want = Bytes(ShiftedSpecs() / "interpret/o.npy");
  CHECK(Bytes(ShiftedSpecs() / "direct/o.npy") == want);
  CHECK(Bytes(ShiftedSpecs() / "emulate/o.npy") == want);
}

TEST_CASE("a kernel is compiled once, with a line that says so") {
  const Folder cache;
  const std::string run = "run shifted.yaml x=random:1 n=10 by=0 --mode=direct";
  const Shown first = Cached(run, ShiftedSpecs(), "", cache.path());
  CHECK(first.status == 0);
  CHECK(first.err.rfind("compiling shifted … ", 0) == 0);
  const Shown second = Cached(run + " --cores=2 --repeat=3", ShiftedSpecs(), "", cache.path());
  CHECK(second.status == 0);
  CHECK(second.err.empty());
  CHECK(Contains(second.out, ", best of 3\n"));
}

TEST_CASE("emulation prints what it copied; a comparison, how close it came") {
  const Shown shown =
      Cached("run shifted.yaml x=random:1 n=1000 by=3 --mode=emulate --machine=v5p --compare",
             ShiftedSpecs());
  INFO(shown.err);
  CHECK(shown.status == 0);
  CHECK(Contains(shown.out, "shifted, emulated: 16 grid steps"));
  CHECK(Contains(shown.out, "  copied    x             16 copies, 0 skipped"));
  CHECK(Contains(shown.out, "  core 1    VMEM "));
  CHECK(Contains(shown.out, "of 64 MiB\n"));
  CHECK(Contains(shown.out, "  compared  o             equal bit for bit"));
  for (const char* more : {"--dma=eager", "--init=random", "--init=zero", "--cores=3"}) {
    INFO(more);
    CHECK(Cached(std::string("run shifted.yaml x=random:1 n=1000 by=3 --mode=emulate --compare ") +
                     more,
                 ShiftedSpecs())
              .status == 0);
  }
}

TEST_CASE("the guide's sparse @ dense is refused by every engine, also without the grid check") {
  const std::string file = KILN_SOURCE_DIR "/tests/errors/seeds/sparse_dense_guide.yaml";
  const auto run = [&](int n, const std::string& engine) {
    const Shown shown = Cached("run " + file +
                                   " x=random:1 y=random:2 zeros=zeros m=24 "
                                   "k=16 n=" +
                                   std::to_string(n) +
                                   " idxs_i=0,0,2 idxs_k=0,1,1 --no-grid-check --mode=" + engine,
                               ShiftedSpecs());
    CHECK(shown.status == 1);
    return shown.err;
  };
  // One block past the end of the list, where a single column of blocks hides the other mistake.
  CHECK(Contains(run(8, "interpret"), "error[index-range]: the subscript 3 of `idxs_i`"));
  for (const char* engine : {"direct", "emulate"}) {
    CHECK(Contains(run(8, engine),
                   "error[index-range]: idxs_i[3] is read, but dimension 0 has extent 3 "
                   "on core 0 at grid point (t=2, j=0)"));
  }
  CHECK(Contains(run(16, "interpret"), "error[revisit]: "));
  CHECK(Contains(run(16, "emulate"), "error[alias]: block (0, 0) of zeros"));
}

TEST_CASE("the emulator finds in overlapping blocks and in copies by hand what the oracle finds") {
  const std::string by_hand = "scratch: {b: \"f32[4]\", s: {semaphore: dma}}\nbody: |\n";
  const std::string in_blocks = "inputs: {x: {array: \"f32[16]\", block: 4, index: i}}\n";
  struct Wrong {
    std::string name, rule, text;
  };
  const Wrong wrong[] = {
      {"race_store", "race",
       "dimension_semantics: parallel\n" + in_blocks +
           "outputs: {y: {array: \"f32[16]\", memory: any}}\n" + by_hand +
           "  b = x\n  copy b -> y[ds(i * 3, 4)], s\n  wait s\n"},
      {"race_load", "race",
       "dimension_semantics: parallel\ninputs: {x: {array: \"f32[16]\", memory: any}}\n"
       "outputs: {y: {array: \"f32[16]\", block: 4, index: i, alias: x}}\n" +
           by_hand + "  copy x[ds(max(i * 4 - 1, 0), 4)] -> b, s\n  wait s\n  y = b\n"},
      {"alias_store", "alias",
       in_blocks + "outputs: {y: {array: \"f32[16]\", memory: any, alias: x}}\n" + by_hand +
           "  b = x\n  copy b -> y[ds(min(i * 4 + 2, 12), 4)], s\n  wait s\n"},
      {"alias_blocks", "alias",
       "inputs: {x: {array: \"f32[16]\", block: 8, index: \"i // 2\"}}\n"
       "outputs: {y: {array: \"f32[16]\", block: 4, index: \"(i + 2) % 4\", alias: x}}\n"
       "body: y = x[0:4]\n"},
      {"revisit_windows", "revisit",
       in_blocks + "outputs: {y: {array: \"f32[16]\", block: \"element(4)\", index: \"i * 3\", "
                   "init: 0}}\nbody: y = x\n"},
  };
  for (const Wrong& spec : wrong) {
    WriteText(ShiftedSpecs() / (spec.name + ".yaml"),
              "kernel: " + spec.name + "\ngrid: {i: 4}\n" + spec.text);
    for (const char* engine : {"interpret", "emulate", "emulate --cores=1 --dma=eager"}) {
      const Shown shown = Cached(
          "run " + spec.name + ".yaml x=random:1 --no-grid-check --mode=" + engine, ShiftedSpecs());
      INFO(spec.name << " " << engine << ": " << shown.err);
      CHECK(shown.status == 1);
      CHECK(Contains(shown.err, "error[" + spec.rule + "]: "));
    }
  }
}

TEST_CASE("what chooses the next output block is found with the next grid point") {
  WriteText(ShiftedSpecs() / "past.yaml",
            "kernel: past\ngrid: {i: 6}\ndimension_semantics: arbitrary\n"
            "prefetch: {ids: \"i32[p]\"}\n"
            "inputs: {x: {array: \"f32[n]\", block: 8, index: i}}\n"
            "outputs: {o: {array: \"f32[n]\", block: 8, index: \"ids[i]\"}}\n"
            "body: o = x\n");
  for (const char* engine : {"direct", "emulate"}) {
    const Shown shown =
        Cached("run past.yaml 'ids=[0,1,2,3]' x=random:1 n=48 --no-grid-check --mode=" +
                   std::string(engine),
               ShiftedSpecs());
    INFO(shown.err);
    CHECK(shown.status == 1);
    // After an emulated run the interpreter points at the subscript itself.
    const std::string column = std::string(engine) == "emulate" ? "54" : "50";
    CHECK(Contains(shown.err, "past.yaml:6:" + column +
                                  ": error[index-range]: ids[4] is read, but dimension 0 has "
                                  "extent 4 on core 0 at grid point (i=4)\n"));
  }
}

TEST_CASE("a spec may call its things what generated code calls its own") {
  const std::string run = "run " + std::string(KILN_SOURCE_DIR) +
                          "/tests/cli/names.yaml point=random:1 rows=random:2 live=random:3 "
                          "Take=random:4 rows_tensor=random:5 finish_memory=random:6 at=100 "
                          "row_count=70 Exp=37 --compare --cores=2 --mode=";
  for (const char* engine : {"direct", "emulate"}) {
    const Shown shown = Cached(run + engine, ShiftedSpecs());
    INFO(shown.err);
    CHECK(shown.status == 0);
    CHECK(Contains(shown.out, "  compared  Gelu          within tolerance"));
    CHECK(Contains(shown.out, "  compared  first_Gelu    "));
  }
}

TEST_CASE("a kernel may have the name of its operand") {
  WriteText(ShiftedSpecs() / "post.yaml",
            "kernel: post\ngrid: {i: 4}\ninputs:\n"
            "  x: {array: \"f32[n, 70]\", block: \"8, all\", index: \"i, 0\"}\n"
            "  post: f32[70]\n"
            "outputs: {y: {array: \"f32[n, 70]\", block: \"8, all\", index: \"i, 0\"}}\n"
            "body: y = x * post\n");
  const Shown shown =
      Cached("run post.yaml x=random:1 post=random:2 n=32 --compare --mode=direct", ShiftedSpecs());
  INFO(shown.err);
  CHECK(shown.status == 0);
  CHECK(Contains(shown.out, "  compared  y             equal bit for bit"));
}

TEST_CASE("a diagnostic of a run points at the operand or the statement, as the checker's do") {
  WriteText(
      ShiftedSpecs() / "early.yaml",
      "kernel: early\ngrid: {i: 2}\n"
      "inputs: {x: {array: \"f32[n]\", memory: any}}\noutputs: {o: {array: \"f32[8]\", init: 0}}\n"
      "scratch: {b: \"f32[8]\", s: {semaphore: dma}}\n"
      "body: |\n  copy x[0:8] -> b, s\n  when i == 1:\n    o = b\n  wait s\n");
  for (const char* options : {"", " --dma=eager --init=zero --shuffle=3"}) {
    const Shown shown = Cached(
        std::string("run early.yaml x=random:1 n=8 --mode=emulate") + options, ShiftedSpecs());
    CHECK(shown.status == 1);
    CHECK(Contains(shown.err,
                   "early.yaml:9:9: error[sync]: b is read on core 0 while a copy into it is in "
                   "flight, which began in line 7 at grid point (i=1)\n"
                   "   9 |     o = b\n"
                   "     |         ^\n"));
  }
}

TEST_CASE("undefined integers are found by a second run") {
  WriteText(ShiftedSpecs() / "counts.yaml",
            "kernel: counts\ngrid: {i: 4}\ninputs: {x: {array: \"i32[16]\", block: 4, index: i}}\n"
            "outputs: {o: \"i32[4]\"}\n"
            "body: |\n  when last(i):\n    o[0:2] = x[0:2]\n");
  const Shown shown = Cached("run counts.yaml x=random:1 --mode=emulate", ShiftedSpecs());
  INFO(shown.err);
  CHECK(shown.status == 1);
  CHECK(
      Contains(shown.err, "counts.yaml:4:11: error[coverage]: no step stores 2 of the 4 elements"));
  CHECK(Contains(shown.err, "the first is `o[2]`"));
}

TEST_CASE("a NaN with the bits of undefined memory is a value, and hides none that is undefined") {
  const Folder folder;
  WriteText(folder / "bits.yaml",
            "kernel: bits\ninputs: {x: \"i32[n]\"}\noutputs: {o: \"f32[n]\", p: \"i32[n]\"}\n"
            "scratch: {s: \"f32[8]\"}\nscalars: {bad: bool}\nbody: |\n"
            "  let y = bitcast(f32, x)\n  o = y\n  p = bitcast(i32, y)\n"
            "  when bad:\n    o[2] = s[0]\n");
  Array marked = Array::Zeros(DType::kI32, {4});
  for (int64_t i = 0; i < 4; ++i) marked.SetInt(i, 0x7FEA0000);
  REQUIRE(WriteNpy(folder / "x.npy", marked) == "");
  for (const char* memory : {"nan", "random", "zero"}) {
    INFO(memory);
    const std::string run = std::string("run bits.yaml x=@x.npy --mode=emulate --init=") + memory;
    const Shown right = Cached(run + " bad=false --compare", folder);
    INFO(right.err);
    CHECK(right.status == 0);
    CHECK(Contains(right.out, "compared  p             equal bit for bit"));
    const Shown wrong = Cached(run + " bad=true", folder);
    CHECK(wrong.status == 1);
    CHECK(Contains(wrong.err, "error[undefined]"));
    CHECK(Contains(wrong.err, "`o[2]`"));
  }
}

TEST_CASE("integers that have no value are found by a second run, by vectors and one by one") {
  const Folder folder;
  WriteText(folder / "ratio.yaml",
            "kernel: ratio\nscalars: {by: i32}\n"
            "inputs:\n  x: i32[40]\n  y: i32[40]\n"
            "outputs:\n  quotient: i32[40]\n  first: i32[1]\n"
            "body: |\n  quotient = x // y\n  first[0] = x[0] % by\n");
  const std::string run = "run ratio.yaml x=random:1 --mode=emulate --no-grid-check ";
  const Shown vectors = Cached(run + "y=zeros by=3", folder);
  CHECK(vectors.status == 1);
  CHECK(Contains(vectors.err,
                 "ratio.yaml:10:3: error[undefined]: undefined values reach 40 of the "
                 "40 elements of `quotient`"));
  const Shown one = Cached(run + "y=ones by=0", folder);
  CHECK(one.status == 1);
  CHECK(Contains(one.err, "undefined values reach 1 of the 1 elements of `first`"));
  CHECK(Cached(run + "y=ones by=3", folder).status == 0);
}

TEST_CASE("an emulated run finds where an undefined value comes from, whatever memory holds") {
  for (const char* type : {"f32", "i32"}) {
    WriteText(ShiftedSpecs() / "leak.yaml",
              std::string("kernel: leak\nparams: {T: ") + type +
                  "}\ngrid: {i: \"cdiv(n, 4)\"}\n"
                  "inputs: {x: {array: \"T[n]\", block: 4, index: i}}\n"
                  "outputs: {o: \"T[1]\"}\nscratch: {total: \"T[1]\"}\n"
                  "body: |\n  when first(i):\n    total = 0\n  total += sum(x)\n"
                  "  when last(i):\n    o = total\n");
    for (const char* options : {"interpret", "emulate", "emulate --init=random",
                                "emulate --init=zero", "emulate --dma=eager --cores=1"}) {
      const Shown shown =
          Cached(std::string("run leak.yaml x=random:1 n=6 --mode=") + options, ShiftedSpecs());
      INFO(type << " " << options << ": " << shown.err);
      CHECK(shown.status == 1);
      CHECK(Contains(shown.err, "leak.yaml:10:"));
      CHECK(Contains(shown.err, "error[tail]: "));
      CHECK(Contains(shown.err, "it comes from elements of `x` past the array's edge"));
      CHECK(Contains(shown.err, "hint: give `x` a pad"));
    }
  }
}

TEST_CASE("host code of one's own is found beside the spec, and compiled again when it changes") {
  const Folder folder;
  fs::create_directory(folder / "specs");
  WriteText(folder / "specs/own.yaml",
            "kernel: own\n"
            "arguments: {table: \"i32[n]\"}\n"
            "prefetch: {ids: \"i32[n]\"}\n"
            "prepare: [{call: \"ids = my_ids(table, n)\", header: my_ids.h}]\n"
            "grid: {i: n}\n"
            "inputs: {x: {array: \"i32[n]\", block: 1, index: \"ids[i]\"}}\n"
            "outputs: {y: {array: \"i32[n]\", block: 1, index: i}}\n"
            "body: y = x\n");
  WriteText(
      folder / "specs/my_ids.h",
      "#pragma once\n#include \"kiln/host/prepare.h\"\n#include \"my_step.h\"\n"
      "inline kiln::Status my_ids(const kiln::Tensor<const int32_t>& table, int64_t n,\n"
      "                           kiln::HostArray<int32_t>* ids) {\n"
      "  ids->shape[0] = n;\n"
      "  for (int64_t i = 0; i < n; ++i) ids->values.push_back(table.data[(i + kStep) % n]);\n"
      "  return {};\n"
      "}\n");
  const std::string words = " x=random:1 table=0,1,2,3 --mode=";
  for (const std::string engine : {"direct", "emulate"}) {
    // From elsewhere, and from the spec's own folder.
    const bool inside = engine == "emulate";
    const std::string run = (inside ? "run own.yaml" : "run specs/own.yaml") + words;
    for (const int step : {1, 2}) {
      WriteText(folder / "specs/my_step.h",
                "constexpr int64_t kStep = " + std::to_string(step) + ";\n");
      const std::string ids = step == 1 ? "1,2,3,0" : "2,3,0,1";
      const Shown shown =
          Cached(run + engine + " --compare ids=" + ids, folder, inside ? "cd specs;" : "");
      INFO(shown.err);
      CHECK(shown.status == 0);
    }
  }
  const Shown without = Cached("run specs/own.yaml" + words + "direct", folder);
  CHECK(without.status == 1);
  CHECK(Contains(without.err, "hint: give what it makes: `ids`"));
}

TEST_CASE("a status of the kernel is an error with its rule") {
  const Shown shown = Cached(
      "run shifted.yaml x=random:1 n=8000000 by=3 --set b=8000000 --mode=emulate --no-grid-check",
      ShiftedSpecs());
  CHECK(shown.status == 1);
  CHECK(shown.out.empty());
  CHECK(Contains(shown.err, "error[tier]: "));
  CHECK(Contains(shown.err, "shifted"));
}

TEST_CASE("options of another engine, and tools that are missing") {
  const std::string run = "run shifted.yaml x=random:1 n=10 by=0 ";
  const std::pair<const char*, const char*> cases[] = {
      {"--mode=direct --wide", "--wide has no meaning with --mode=direct"},
      {"--mode=direct --shuffle=1", "--shuffle has no meaning with --mode=direct"},
      {"--cores=2", "--cores has no meaning with --mode=interpret"},
      {"--compare", "--compare has no meaning with --mode=interpret"},
      {"--mode=direct --machine=v4", "--machine has no meaning with --mode=direct"},
      {"--mode=emulate --machine=v3", "v3"},
      {"--mode=direct --cores=0", "--cores"},
  };
  for (const auto& [options, message] : cases) {
    const Shown shown = Cached(run + options, ShiftedSpecs());
    INFO(options);
    CHECK(shown.status == 2);
    CHECK(Contains(shown.err, message));
  }
  const Shown missing = Cached(run + "--mode=direct", ShiftedSpecs(), "CXX=no-such-compiler");
  CHECK(missing.status == 2);
  CHECK(Contains(missing.err, "cannot run the compiler `no-such-compiler`"));
  const Shown broken =
      Cached(run + "--mode=direct", ShiftedSpecs(), "CXX='c++ -include nowhere.h'");
  CHECK(broken.status == 3);
  CHECK(Contains(broken.err, "does not compile "));
  CHECK(Contains(broken.err, "nowhere.h"));
}

}  // namespace
}  // namespace kiln::test
