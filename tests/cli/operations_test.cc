// A kernel with every operation of elements that the language has: compiled, and held against the
// interpreter.
#include "generator/ir/operations.h"

#include "generator/interpret/tiles/functions.h"
#include "tests/catch.h"
#include "tests/cli/tool.h"

namespace kiln::cli {
namespace {

/// Each operation of floats and of integers, as a statement with an output of its own.
class AllOfThem {
 public:
  AllOfThem() {
    for (const Operation& row : AllOperations()) {
      if (interpret::MeaningOf(row.op, DType::kF32)) Add(row, {"x", "y", "z"}, "f32");
      if (interpret::MeaningOf(row.op, DType::kI32)) Add(row, {"a", "c", "b"}, "i32");
    }
  }

  int count() const { return count_; }
  std::string spec() const {
    return "kernel: operations\ngrid:\n  i: cdiv(n, 128)\ninputs:\n"
           "  x: {array: \"f32[n]\", block: \"128\", index: i}\n" +
           Like("y", "f32") + Like("z", "f32") + Like("a", "i32") + Like("b", "i32") +
           "outputs:\n" + outputs_ +
           "body: |\n  let c = (b & 7) + 1  # no divisor of 0, no negative power\n" + body_;
  }

 private:
  static std::string Like(const std::string& name, const std::string& dtype) {
    return "  " + name + ": {array: \"" + dtype + "[n]\", like: x}\n";
  }

  void Add(const Operation& row, const std::vector<std::string>& args, const std::string& dtype) {
    if (row.op == Op::kNot) return;  // of bool scalars
    std::string text;
    if (row.call != CallRule::kNone) {
      for (int k = 0; k < row.args; ++k)
        text += (k == 0 ? "" : ", ") + args[static_cast<size_t>(k)];
      text = std::string(row.name) + "(" + text + ")";
    } else if (row.args == 1) {
      text = std::string(row.name) + args[0];
    } else {
      text = args[0] + " " + std::string(row.name) + " " + args[1];
    }
    const bool tests = row.result == ResultType::kBool;
    const std::string name = "o" + std::to_string(count_++);
    outputs_ += Like(name, tests ? "i32" : dtype);
    body_ += "  " + name + " = " + (tests ? "i32(" + text + ")" : text) + "\n";
  }

  int count_ = 0;
  std::string outputs_, body_;
};

TEST_CASE("every operation has a function in the runtime that does what the interpreter does") {
  const test::Folder folder;
  const AllOfThem all;
  test::WriteText(folder.path() / "operations.yaml", all.spec());
  INFO(all.spec());
  CHECK(all.count() > 60);
  const auto run = [&](const std::string& mode, const std::string& out) {
    const std::string cache = test::fs::path(KILN_TOOL).parent_path() / "test-cache";
    const test::Shown shown =
        test::Shell("XDG_CACHE_HOME='" + cache +
                        "' kiln run operations.yaml x=random:1 y=random:2 z=random:3 " +
                        "a=random:4 b=random:5 n=300 --compare --mode=" + mode + " --out=" + out,
                    folder.path());
    INFO(shown.out << shown.err);
    CHECK(shown.status == 0);
  };
  run("direct", "direct");
  run("emulate", "emulated");
  // One text, so the same bits.
  for (int k = 0; k < all.count(); ++k) {
    const std::string name = "o" + std::to_string(k) + ".npy";
    INFO(name);
    CHECK(test::ReadText(folder.path() / "direct" / name) ==
          test::ReadText(folder.path() / "emulated" / name));
  }
}

}  // namespace
}  // namespace kiln::cli
