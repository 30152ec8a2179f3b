// `kiln generate`: which files it writes, and what it says.
#include "tests/catch.h"
#include "tests/cli/tool.h"

namespace kiln::test {
namespace {

std::string SpecText(const std::string& name, const std::string& instances = "") {
  return "kernel: " + name +
         "\nparams: {by: 2}\ninputs:\n  x: f32[n]\noutputs:\n  o: f32[n]\nbody: |\n  o = x * "
         "f32(by)\n" +
         instances;
}

TEST_CASE("a kernel becomes two files, which are touched when they change") {
  const Folder folder;
  WriteText(folder / "twice.yaml", SpecText("twice"));
  const Shown first = Kiln("generate twice.yaml -o out/here", folder.path());
  CHECK(first.status == 0);
  CHECK(first.out == "wrote     out/here/twice.h\nwrote     out/here/twice.cc\n");
  CHECK(Contains(ReadText(folder / "out/here/twice.h"), "Status twice("));
  CHECK(Contains(ReadText(folder / "out/here/twice.cc"), "#include \"twice.h\""));

  const Shown second = Kiln("generate twice.yaml -o out/here", folder.path());
  CHECK(second.out == "unchanged out/here/twice.h\nunchanged out/here/twice.cc\n");
  const Shown other = Kiln("generate twice.yaml -o out/here --set by=3", folder.path());
  CHECK(other.out == "wrote     out/here/twice.h\nwrote     out/here/twice.cc\n");
  WriteText(folder / "twice.yaml", SpecText("twice") + "# the same\n");
  const Shown same = Kiln("generate twice.yaml -o out/here --set by=3", folder.path());
  CHECK(same.out == "unchanged out/here/twice.h\nunchanged out/here/twice.cc\n");
}

TEST_CASE("the text names no folder, and is that of standard output") {
  const Folder folder;
  WriteText(folder / "twice.yaml", SpecText("twice"));
  Kiln("generate '" + (folder / "twice.yaml") + "'", folder.path());
  const std::string text = ReadText(folder / "twice.cc");
  CHECK(!Contains(text, folder.path().string()));
  const Shown shown = Kiln("generate twice.yaml --stdout", folder.path());
  CHECK(shown.out ==
        "// ==== twice.h\n" + ReadText(folder / "twice.h") + "// ==== twice.cc\n" + text);
}

TEST_CASE("all instances of a spec, one of them, or one under another name") {
  const Folder folder;
  WriteText(folder / "s.yaml", SpecText("s", "instances: {two: {}, ten: {by: 10}}\n"));
  WriteText(folder / "twice.yaml", SpecText("twice"));
  CHECK(Kiln("generate s.yaml --format=json", folder.path()).out == "[]\n");
  for (const char* file : {"two.h", "two.cc", "ten.h", "ten.cc"}) CHECK(fs::exists(folder / file));
  CHECK(Kiln("generate s.yaml:ten -o one", folder.path()).out ==
        "wrote     one/ten.h\nwrote     one/ten.cc\n");
  CHECK(Kiln("generate s.yaml:ten twice.yaml -o many", folder.path()).out ==
        "wrote     many/ten.h\nwrote     many/ten.cc\nwrote     many/twice.h\nwrote     "
        "many/twice.cc\n");
  CHECK(Kiln("generate --set by=4 s.yaml:ten -o named --name=four", folder.path()).out ==
        "wrote     named/four.h\nwrote     named/four.cc\n");
  CHECK(Contains(ReadText(folder / "named/four.h"), "Status four("));
}

/// The number behind `name` on its line of what --stats prints; 0: there is none.
int64_t BytesOf(const std::string& text, const std::string& name) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (line.rfind("  " + name + " ", 0) != 0) continue;
    std::string digits = line.substr(2 + name.size(), line.find(", ", 2) - 2 - name.size());
    std::erase_if(digits, [](char c) { return c == ',' || c == ' '; });
    return std::stoll(digits);
  }
  return 0;
}

TEST_CASE("--stats prints how large the code is for each instruction set, and writes no file") {
  const Folder folder;
  WriteText(folder / "twice.yaml", SpecText("twice"));
  const Shown both = Kiln("generate twice.yaml --stats", folder.path());
  INFO(both.err << both.out);
  REQUIRE(both.status == 0);
  CHECK(both.out.rfind("twice, bytes of object code:\n", 0) == 0);
  CHECK(!fs::exists(folder / "twice.cc"));
  const Shown direct = Kiln("generate twice.yaml --stats --direct-only", folder.path());
  INFO(direct.err << direct.out);
  REQUIRE(direct.status == 0);
  CHECK(direct.out.rfind("twice, bytes of object code, Direct alone:\n", 0) == 0);
  CHECK(Contains(both.out, "of them the emulator's\n"));
  CHECK(!Contains(direct.out, "emulator"));
  for (const char* name : {"any", "constants", "unwinding", "in all"}) {
    INFO(name);
    CHECK(BytesOf(direct.out, name) > 0);
    CHECK(BytesOf(direct.out, name) <= BytesOf(both.out, name));
  }
  CHECK(BytesOf(direct.out, "any") < BytesOf(both.out, "any"));
#if defined(__x86_64__)
  for (const char* name : {"AVX2", "AVX3", "AVX3_DL"}) {  // which have the body, not the grid
    INFO(name);
    CHECK(BytesOf(direct.out, name) > 0);
    CHECK(BytesOf(direct.out, name) == BytesOf(both.out, name));
    CHECK(BytesOf(both.out, name) < BytesOf(both.out, "any"));
  }
#endif
  const Shown alone = Kiln("generate twice.yaml --direct-only", folder.path());
  CHECK(alone.status == 2);
  CHECK(Contains(alone.err, "--direct-only requires --stats"));
  CHECK(Kiln("generate twice.yaml --stats --stdout", folder.path()).status == 2);
  const Shown none = Shell("CXX=no-such kiln generate twice.yaml --stats", folder.path());
  CHECK(none.status == 2);
  CHECK(Contains(none.err, "cannot run the compiler `no-such`; set CXX to a C++20 compiler"));
}

TEST_CASE("what is wrong with a command line or a spec") {
  const Folder folder;
  WriteText(folder / "twice.yaml", SpecText("twice"));
  WriteText(folder / "again.yaml", SpecText("again", "instances: {twice: {}}\n"));
  WriteText(folder / "wrong.yaml", "kernel: wrong\noutputs:\n  o: f32[n]\nbody: o = x\n");
  WriteText(folder / "file", "");
  struct Case {
    const char* arguments;
    int status;
    const char* message;
  };
  const Case cases[] = {
      {"", 2, "SPEC is required"},
      {"nowhere.yaml", 2, "cannot read `nowhere.yaml`"},
      {"twice.yaml again.yaml", 2, "two kernels are called `twice`"},
      {"twice.yaml again.yaml --name=a", 2, "--name is for one kernel"},
      {"twice.yaml --name=9", 2, "--name: "},
      {"twice.yaml --name=int", 2, "--name: "},
      {"twice.yaml -o file", 2, "cannot write `file/twice.h`"},
      {"wrong.yaml", 1, "wrong.yaml:4:11: error[name]"},
      {"wrong.yaml twice.yaml", 1, "wrong.yaml:4:11: error[name]"},
      {"twice.yaml:none", 1, "error["},
  };
  for (const Case& wrong : cases) {
    const Shown shown = Kiln(std::string("generate ") + wrong.arguments, folder.path());
    INFO(wrong.arguments << "\n" << shown.err);
    CHECK(shown.status == wrong.status);
    CHECK(Contains(shown.err, wrong.message));
  }
  // A good spec is written whatever becomes of the others.
  CHECK(fs::exists(folder / "twice.cc"));
}

}  // namespace
}  // namespace kiln::test
