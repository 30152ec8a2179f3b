// The tool as a user sees it: exit statuses, help, diagnostics, files.
#include <cmath>
#include <nlohmann/json.hpp>
#include <vector>

#include "generator/cli/command/command.h"
#include "generator/cli/explain/commands.h"
#include "generator/data/npy.h"
#include "generator/system/environment.h"
#include "tests/catch.h"
#include "tests/cli/tool.h"

namespace kiln::test {
namespace {

constexpr const char* kGood =
    "kernel: good\ninputs:\n  x: f32[n]\noutputs:\n  o: f32[n]\nbody: |\n  o = x * 2\n";
constexpr const char* kBad =
    "kernel: bad\ninputs:\n  x: bf16[n]\noutputs:\n  o: bf16[n]\nbody: |\n  o = x * 2\n";

Folder& Specs() {
  static Folder folder;
  static const bool written = [] {
    WriteText(folder / "good.yaml", kGood);
    WriteText(folder / "bad.yaml", kBad);
    return true;
  }();
  (void)written;
  return folder;
}

Array Load(const std::string& path) {
  auto read = ReadNpy(path);
  REQUIRE(std::holds_alternative<Array>(read));
  return std::get<Array>(read);
}

// Exit statuses -----------------------------------------------------------------------------------

TEST_CASE("status 0: fine, on standard output") {
  const Shown shown = Kiln("check good.yaml", Specs().path());
  CHECK(shown.status == 0);
  CHECK(shown.out == "good: the spec is fine; give sizes to check the grid, e.g. n=1000\n");
  CHECK(shown.err.empty());
  CHECK(Kiln("check -q good.yaml", Specs().path()).out.empty());
}

TEST_CASE("status 1: diagnostics, on standard error") {
  for (const char* command : {"check bad.yaml", "run bad.yaml x=random:1 n=4", "show bad.yaml"}) {
    const Shown shown = Kiln(command, Specs().path());
    INFO(command);
    CHECK(shown.status == 1);
    CHECK(shown.out.empty());
    CHECK(shown.err.rfind("bad.yaml:7:7: error[type]: ", 0) == 0);
  }
}

TEST_CASE("status 2: the command line is at fault, with a hint") {
  const std::pair<const char*, const char*> cases[] = {
      {"chekc good.yaml", "kiln: there is no command `chekc`\n  hint: did you mean `check`?\n"},
      {"frobnicate",
       "kiln: there is no command `frobnicate`\n  hint: kiln --help lists the commands\n"},
      {"import module:f --shapes f32[8]",
       "kiln: this program does not trace Python functions\n  hint: `kiln import` comes with the "
       "Python "
       "package: pip install . where Kiln's sources are, then kiln import --help, or python -m "
       "kiln "
       "import --help\n"},
      {"check nowhere.yaml", "kiln new NAME"},
      {"check .", "is a folder, not a spec"},
      {"check good.yaml m=3", "neither an argument nor a dimension"},
      {"check good.yaml n", "not name=value"},
      {"check good.yaml n=3 n=4", "given twice"},
      {"check good.yaml n=three", "a dimension is an integer"},
      {"run good.yaml x=@nowhere.npy", "nowhere.npy"},
      {"run good.yaml x=@", "`x=@` names no file"},
      {"run good.yaml x=1,two,3", "`two` is not a number"},
      {"run good.yaml 'x=[1,[2]]'", "not a list of numbers"},
      {"run good.yaml 'x=[1,2'", "not a list of numbers"},
      {"run good.yaml \"$(printf 'a\\033[31m=1')\"", "`a\\x1b[31m` is neither"},
      {"run good.yaml \"$(printf -- '--a\\033[31m')\"", "--a\\x1b[31m"},
      {"run good.yaml x=random:1", "give its dimensions: n="},
      {"check good.yaml --set bm", "for example: --set bm=256 T=f32"},
      {"check", "SPEC is required"},
      {"", "--help"},
      {"run good.yaml --mode=fast", "interpret"},
  };
  for (const auto& [command, part] : cases) {
    const Shown shown = Kiln(command, Specs().path());
    INFO("kiln " << command << "\n" << shown.err);
    CHECK(shown.status == 2);
    CHECK(shown.out.empty());
    CHECK(Contains(shown.err, part));
  }
}

TEST_CASE("with --format=json every error is in one list, whatever is wrong") {
  const std::tuple<const char*, int, const char*> cases[] = {
      {"check nowhere.yaml", 2, "usage"},
      {"check good.yaml m=3", 2, "usage"},
      {"run good.yaml x=random:1", 2, "usage"},
      {"run good.yaml x=@nowhere.npy", 2, "usage"},
      {"run good.yaml --mode=emulate --machine=v3 x=1", 2, "usage"},
      {"run good.yaml --mode=fast", 2, "usage"},
      {"run good.yaml --bogus", 2, "usage"},
      {"check", 2, "usage"},
      {"run bad.yaml x=random:1 n=4", 1, "type"},
      {"run good.yaml", 1, "call"},
      {"show bad.yaml", 1, "type"},
      {"compile bad.yaml", 1, "type"},
      {"bench good.yaml", 2, "usage"},
      {"predict good.yaml --json n=x", 2, "usage"},
      {"report bad.yaml", 1, "type"},
      {"tune good.yaml --dry-run n=100", 2, "usage"},
      {"generate nowhere.yaml", 2, "usage"},
      {"golden check good.yaml", 2, "usage"},
  };
  for (const auto& [command, status, rule] : cases) {
    for (const char* asked : {" --format=json", " --format json"}) {
      const Shown shown = Kiln(command + std::string(asked), Specs().path());
      INFO("kiln " << command << asked << "\n" << shown.out << "\n" << shown.err);
      CHECK(shown.status == status);
      CHECK(shown.err == "");
      const auto found = nlohmann::json::parse(shown.out, nullptr, false);
      REQUIRE(found.is_array());
      REQUIRE_FALSE(found.empty());
      CHECK(found[0]["rule"] == rule);
      CHECK(found[0]["severity"] == "error");
      CHECK_FALSE(found[0]["message"].get<std::string>().empty());
      CHECK(found[0].contains("hint"));
    }
  }
}

// Help --------------------------------------------------------------------------------------------

TEST_CASE("help lists the commands and says where to start") {
  const Shown shown = Kiln("--help");
  CHECK(shown.status == 0);
  for (const cli::Command& command : cli::Commands()) {
    INFO(command.name);
    CHECK(Contains(shown.out, std::string("  ") + command.name + " "));
    CHECK(Contains(shown.out, command.summary));
  }
  CHECK(Contains(shown.out, "Start here:"));
  CHECK(Contains(shown.out, "Exit status: 0 fine, 1 errors, 2 usage"));
}

/// The commands of a help text without what is said about them; a long one goes on in the next
/// line.
std::vector<std::string> Examples(const std::string& help) {
  std::vector<std::string> examples;
  std::istringstream lines(help);
  bool open = false;
  for (std::string line; std::getline(lines, line);) {
    const size_t begin = line.find_first_not_of(' ');
    const bool starts = line.rfind("  kiln ", 0) == 0;
    const bool goes_on = open && begin != std::string::npos && begin > 4;
    open = starts || goes_on;
    if (!open) continue;
    const std::string words = line.substr(begin, line.find("  ", begin) - begin);
    if (starts)
      examples.push_back(words);
    else
      examples.back() += " " + words;
  }
  return examples;
}

TEST_CASE("help lists commands and every environment variable") {
  CHECK(Kiln("help").out == Kiln("--help").out);
  CHECK(Contains(Kiln("help run").out, "x=@x.npy"));
  const Shown shown = Kiln("help environment");
  CHECK(shown.status == 0);
  for (const VariableRow& row : EnvironmentVariables()) CHECK(Contains(shown.out, row.name));
  const Shown wrong = Kiln("help enviroment");
  CHECK(wrong.status == 2);
  CHECK(wrong.err ==
        "kiln: there is no help on `enviroment`\n  hint: did you mean `environment`?\n");
}

TEST_CASE("a cache that cannot be, and a HOME that is not, cost a warning") {
  const Folder folder;
  WriteText(folder / "file", "");
  const std::string run = " kiln run good.yaml x=1,2 --mode=direct";
  for (const std::string& before : {"XDG_CACHE_HOME='" + (folder / "file/under") + "'",
                                    std::string("env -u HOME XDG_CACHE_HOME=")}) {
    const Shown shown = Shell(before + run, Specs().path());
    INFO(before << "\n" << shown.err);
    CHECK(shown.status == 0);
    CHECK(Contains(shown.err, "kiln: warning: compiled kernels are not kept: "));
  }
}

TEST_CASE("what help says under Start here works as it stands") {
  const Folder folder;
  const auto examples = Examples(Kiln("--help").out);
  CHECK(examples.size() >= 3);
  for (const std::string& example : examples) {
    const Shown shown = Shell(example, folder.path());
    INFO(example << "\n" << shown.err);
    CHECK(shown.status == 0);
  }
}

TEST_CASE("each command's help teaches by example") {
  for (const cli::Command& command : cli::Commands()) {
    const Shown shown = Kiln(std::string(command.name) + " --help");
    INFO(command.name);
    CHECK(shown.status == 0);
    CHECK(Contains(shown.out, std::string("kiln ") + command.name));
    CHECK(!Contains(shown.out, "--write-docs"));
  }
}

TEST_CASE("the examples in the help of check, run, report and show work on the shipped specs") {
  const Folder folder;  // for what they write
  fs::create_directory_symlink(fs::path(KILN_SOURCE_DIR) / "specs", folder / "specs");
  for (const char* name : {"check", "run", "report", "show"}) {
    for (const std::string& example : Examples(Kiln(std::string(name) + " --help").out)) {
      if (Contains(example, "@")) continue;  // a file of one's own
      const Shown shown = Shell(example, folder.path());
      INFO(example << "\n" << shown.err);
      CHECK(shown.status == 0);
    }
  }
}

// Shipped specs -----------------------------------------------------------------------------------

TEST_CASE("the shipped specs are fine by themselves and have both text forms") {
  for (const auto& entry : fs::directory_iterator(fs::path(KILN_SOURCE_DIR) / "specs")) {
    if (entry.path().extension() != ".yaml") continue;
    const std::string spec = "specs/" + entry.path().filename().string();
    INFO(spec);
    const Shown check = Kiln("check " + spec);
    CHECK(check.status == 0);
    CHECK(check.err.empty());
    CHECK(Kiln("show --stage=spec " + spec).out.rfind("kernel", 0) == 0);
    CHECK(Kiln("show --stage=kernel " + spec).out.rfind("kernel", 0) == 0);
  }
}

TEST_CASE("a run prints a line for each argument and output") {
  const Shown shown =
      Kiln("run specs/matmul.yaml:matmul_f32 x=random:1 y=random:2 bias=zeros m=20 n=10 k=30");
  CHECK(shown.status == 0);
  CHECK(shown.err.empty());
  CHECK(shown.out.rfind("matmul:matmul_f32, interpreted: 1 grid step (i=1, j=1, l=1) in ", 0) == 0);
  for (const char* part : {"  input     x ", "f32[20, 30]", "  input     y ", "f32[30, 10]",
                           "  input     bias", "  output    z ", "f32[20, 10]"}) {
    INFO(part);
    CHECK(Contains(shown.out, part));
  }
}

TEST_CASE("SPEC:instance and --set choose the kernel") {
  CHECK(Contains(Kiln("show specs/matmul.yaml").out, "matmul_bf16"));  // the first is the default
  CHECK(Contains(Kiln("show specs/matmul.yaml:matmul_f32").out, "matmul_f32"));
  const Shown none = Kiln("check specs/matmul.yaml:matmul_f23");
  CHECK(none.status == 1);
  CHECK(Contains(none.err, "did you mean `matmul_f32`?"));
  CHECK(Contains(Kiln("check specs/matmul.yaml m=100 n=100 k=100 --set bm=50").out, "i=2"));
  CHECK(Contains(Kiln("check specs/matmul.yaml m=100 n=100 k=100 --set bmm=50").err,
                 "did you mean `bm`?"));
}

TEST_CASE("a spec may come from standard input") {
  const Shown shown = Shell("kiln check - <bad.yaml", Specs().path());
  CHECK(shown.status == 1);
  CHECK(shown.err.rfind("-:7:7: error[type]", 0) == 0);
}

// Diagnostics
// ----------------------------------------------------------------------------------------

TEST_CASE("a diagnostic shows place, rule, line, caret and hint") {
  CHECK(Kiln("check bad.yaml", Specs().path()).err ==
        "bad.yaml:7:7: error[type]: a value of type f32 into `o` (bf16)\n"
        "   7 |   o = x * 2\n"
        "     |       ^~~~~\n"
        "  hint: write bf16(x * 2)\n");
}

TEST_CASE("--format=json gives the same diagnostic to a program") {
  const Shown shown = Kiln("check bad.yaml --format=json", Specs().path());
  CHECK(shown.status == 1);
  CHECK(shown.err.empty());
  const auto found = nlohmann::json::parse(shown.out);
  REQUIRE(found.size() == 1);
  CHECK(found[0]["path"] == "bad.yaml");
  CHECK(found[0]["line"] == 7);
  CHECK(found[0]["column"] == 7);
  CHECK(found[0]["severity"] == "error");
  CHECK(found[0]["rule"] == "type");
  CHECK(found[0]["message"] == "a value of type f32 into `o` (bf16)");
  const Shown fine = Kiln("check good.yaml --format=json", Specs().path());
  CHECK(fine.status == 0);
  CHECK(nlohmann::json::parse(fine.out).empty());
}

TEST_CASE("the schema is JSON with every section") {
  const auto schema = nlohmann::json::parse(Kiln("schema").out);
  CHECK(schema["properties"].contains("grid"));
  CHECK(schema["definitions"].contains("operand"));
  CHECK(Contains(Kiln("schema --reference").out, "| `grid` |"));
}

// Arrays in files ---------------------------------------------------------------------------------

TEST_CASE("arrays travel through npy files") {
  const Folder folder;
  WriteText(folder / "good.yaml", kGood);
  Array x = Array::Zeros(DType::kF32, {3});
  for (int64_t i = 0; i < 3; ++i) x.SetFloat(i, 1.5 * static_cast<double>(i));
  REQUIRE(WriteNpy(folder / "x.npy", x).empty());
  const Shown shown = Kiln("run good.yaml x=@x.npy -o out/here", folder.path());
  INFO(shown.err);
  CHECK(shown.status == 0);
  CHECK(Contains(shown.out, "wrote out/here/o.npy"));
  const Array o = Load(folder / "out/here/o.npy");
  CHECK(o.dtype == DType::kF32);
  CHECK(o.shape == std::vector<int64_t>{3});
  for (int64_t i = 0; i < 3; ++i) CHECK(o.GetFloat(i) == 3.0 * static_cast<double>(i));
}

TEST_CASE("short arrays are written out") {
  WriteText(Specs() / "bits.yaml",
            "kernel: bits\ninputs:\n  x: f32[n]\n  y: i8[2, n]\noutputs:\n  o: f32[n]\n"
            "body: |\n  o = x + f32(sum(y, axis=0))\n");
  const Folder folder;
  const Shown shown = Kiln(
      "run " + (Specs() / "bits.yaml") + " x=nan,-inf,0x10,1e3 'y=[[1, 2,3,4] ,[5,6, 7,8]]' -o out",
      folder.path());
  INFO(shown.err);
  REQUIRE(shown.status == 0);
  const Array out = Load(folder / "out/o.npy");
  REQUIRE(out.size() == 4);
  CHECK(std::isnan(out.GetFloat(0)));
  CHECK(out.GetFloat(1) == -INFINITY);
  CHECK(out.GetFloat(2) == 26);
  CHECK(out.GetFloat(3) == 1012);
}

TEST_CASE("bf16 travels as uint16 bits") {
  const Folder folder;
  WriteText(
      folder / "twice.yaml",
      "kernel: twice\ninputs:\n  x: bf16[n]\noutputs:\n  o: bf16[n]\nbody: |\n  o = bf16(x * 2)\n");
  Array x = Array::Zeros(DType::kBF16, {2});
  x.SetFloat(0, 1.5);
  x.SetFloat(1, -0.25);
  REQUIRE(WriteNpy(folder / "x.npy", x).empty());
  CHECK(Kiln("run twice.yaml x=@x.npy -o .", folder.path()).status == 0);
  const Array bits = Load(folder / "o.npy");
  CHECK(bits.dtype == DType::kU16);
  CHECK(BF16ToFloat(static_cast<uint16_t>(bits.GetInt(0))) == 3.0f);
  CHECK(BF16ToFloat(static_cast<uint16_t>(bits.GetInt(1))) == -0.5f);
}

TEST_CASE("a file of another dtype is refused by name") {
  const Folder folder;
  WriteText(folder / "good.yaml", kGood);
  REQUIRE(WriteNpy(folder / "x.npy", Array::Zeros(DType::kF64, {3})).empty());
  const Shown shown = Kiln("run good.yaml x=@x.npy", folder.path());
  CHECK(shown.status == 2);
  CHECK(Contains(shown.err, "x.npy"));
  CHECK(Contains(shown.err, "f64"));
  CHECK(Contains(shown.err, "f32"));
}

TEST_CASE("nothing is written when something was found") {
  const Folder folder;
  WriteText(folder / "edge.yaml",
            "kernel: edge\ngrid:\n  i: cdiv(n, 4)\ninputs:\n  x: {array: \"f32[n]\", block: 4, "
            "index: i}\n"
            "outputs:\n  o: {array: \"f32[n]\", block: 4, index: i}\nbody: |\n  o = roll(x, 1, "
            "axis=0)\n");
  const Shown shown = Kiln("run edge.yaml x=random:1 n=7 -o out", folder.path());
  CHECK(shown.status == 1);
  CHECK(Contains(shown.err, "error[undefined]"));
  CHECK(!fs::exists(folder / "out"));
}

}  // namespace
}  // namespace kiln::test
