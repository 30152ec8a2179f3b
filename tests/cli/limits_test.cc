// What would take too long or too much is refused before it begins, whatever the command, and what
// takes long says so.
#include <fcntl.h>
#include <poll.h>

#include <chrono>
#include <csignal>
#include <vector>

#include "tests/catch.h"
#include "tests/cli/tool.h"

namespace kiln::test {
namespace {

/// Whose index distinguishes every step of the grid from its neighbours.
constexpr const char* kUnequalSteps = R"(kernel: modulo
params: {bm: 128}
scalars: {n: i64}
grid:
  i: n
inputs:
  x:
    array: f32[m]
    block: bm
    index: i % 2
outputs:
  o:
    array: f32[128]
    block: bm
    index: 0
body: |
  when first(i):
    o = 0
  o += x

golden:
  - {n: 1099511627776, m: 256}
)";

/// Steps that are all alike.
constexpr const char* kEqualSteps = R"(kernel: count
params: {bm: 128}
scalars: {n: i64}
grid:
  i: n
inputs:
  x: {array: "f32[128]", block: bm, index: 0}
outputs:
  o: {array: "f32[128]", block: bm, index: 0}
body: |
  when first(i):
    o = 0
  o += x
)";

/// An array of as many elements as its one size says.
constexpr const char* kLargeArray = R"(kernel: large
params: {bm: 1024}
grid:
  i: cdiv(m, bm)
inputs:
  x: {array: "i8[m]", block: bm, index: i}
outputs:
  o: {array: "i8[m]", block: bm, index: i}
body: |
  o = x
)";

struct LimitSpecs {
  Folder folder;

  LimitSpecs() {
    WriteText(folder / "modulo.yaml", kUnequalSteps);
    WriteText(folder / "count.yaml", kEqualSteps);
    WriteText(folder / "large.yaml", kLargeArray);
  }
};

TEST_CASE("what would take too long says how long, and which limit lets it pass") {
  const LimitSpecs specs;
  const struct {
    const char* command;
    const char* says;
  } cases[] = {
      {"predict modulo.yaml n=2147483648 m=256 --limit=1min",
       "kiln: predicting 2147483648 grid steps (i=2147483648) would take about 3.4 min\n"
       "  hint: --limit=8min raises the limit of 1 min\n"},
      {"report modulo.yaml n=2147483648 m=256 --limit=1min",
       "kiln: predicting 2147483648 grid steps (i=2147483648) would take about 3.4 min\n"
       "  hint: --limit=8min raises the limit of 1 min\n"},
      {"bench modulo.yaml n=2147483648 m=256 --limit=1min",
       "kiln: predicting 2147483648 grid steps (i=2147483648) would take about 3.4 min\n"
       "  hint: --limit=8min raises the limit of 1 min\n"},
      {"tune modulo.yaml n=2147483648 m=256 --limit=1min --dry-run",
       "kiln: predicting 2147483648 grid steps (i=2147483648) would take about 3.4 min\n"
       "  hint: --limit=8min raises the limit of 1 min\n"},
      {"run modulo.yaml n=2147483648 m=256 x=zeros --limit=1min",
       "kiln: interpreting 2147483648 grid steps (i=2147483648) would take about 23 min\n"
       "  hint: --limit=32min raises the limit of 1 min\n"},
      {"run modulo.yaml n=2147483648 m=256 x=zeros --mode=direct --limit=10s",
       "kiln: calling it for 2147483648 grid steps (i=2147483648) would take about 38 s\n"
       "  hint: --limit=64s raises the limit of 10 s\n"},
      {"run modulo.yaml n=2147483648 m=256 x=zeros --mode=emulate --limit=1min",
       "kiln: calling it for 2147483648 grid steps (i=2147483648) would take about 3.7 min\n"
       "  hint: --limit=8min raises the limit of 1 min\n"},
      {"run modulo.yaml n=1099511627776 m=256 x=zeros --mode=direct --compare --limit=10h",
       "kiln: interpreting 1099511627776 grid steps (i=1099511627776) would take about 200 h\n"
       "  hint: --limit=256h raises the limit of 10 h\n"},
      {"golden record modulo.yaml --limit=1min",
       "kiln: interpreting 1099511627776 grid steps (i=1099511627776) would take about 200 h\n"
       "  hint: --limit=256h raises the limit of 1 min\n"},
      {"predict modulo.yaml n=4611686018427387904 m=256",
       "kiln: predicting 4611686018427387904 grid steps (i=4611686018427387904) would take about "
       "13883 years\n"
       "  hint: no machine has that; are these the sizes that were meant?\n"},
  };
  for (const auto& [command, says] : cases) {
    INFO(command);
    const Shown shown = Kiln(command, specs.folder.path());
    CHECK(shown.status == 2);
    CHECK(shown.out.empty());
    CHECK(shown.err == says);
  }
}

TEST_CASE("what would hold too much memory says how much") {
  const LimitSpecs specs;
  WriteText(specs.folder / "sparse.npy", "");
  fs::resize_file(specs.folder / "sparse.npy", int64_t{1} << 36);
  const struct {
    const char* command;
    const char* says;
  } cases[] = {
      {"run large.yaml m=1099511627776 x=zeros --limit=1GiB",
       "kiln: making `x` of shape i8[1099511627776] would take about 1 TiB\n"
       "  hint: --limit=2TiB raises the limit of 1 GiB\n"},
      {"run large.yaml x=@sparse.npy --limit=1GiB",
       "kiln: reading `x` would take about 64 GiB\n"
       "  hint: --limit=128GiB raises the limit of 1 GiB\n"},
      {"run large.yaml m=100000 x=zeros --limit=1MiB",
       "kiln: interpreting 98 grid steps (i=98) would take about 1.7 MiB\n"
       "  hint: --limit=2MiB raises the limit of 1 MiB\n"},
      {"run large.yaml m=1000000 x=zeros --limit=2MiB --mode=direct",
       "kiln: calling it for 977 grid steps (i=977) would take about 2.9 MiB\n"
       "  hint: --limit=4MiB raises the limit of 2 MiB\n"},
      {"report large.yaml m=200000000 --limit=1MiB",
       "kiln: predicting 195313 grid steps (i=195313) would take about 16 MiB\n"
       "  hint: --limit=32MiB raises the limit of 1 MiB\n"},
      {"check large.yaml m=1 --limit=lots",
       "--limit: takes memory, time or both, as in 64GiB,2h\n"
       "Run with --help or --help-all for more information.\n"},
  };
  for (const auto& [command, says] : cases) {
    INFO(command);
    const Shown shown = Kiln(command, specs.folder.path());
    CHECK(shown.status == 2);
    CHECK(shown.out.empty());
    CHECK(shown.err == says);
  }
}

TEST_CASE("a grid that takes the machine too long is a diagnostic, not a wrong number") {
  const LimitSpecs specs;
  const Shown shown = Kiln("predict count.yaml n=4611686018427387904", specs.folder.path());
  CHECK(shown.status == 1);
  CHECK(shown.out.empty());
  CHECK(shown.err ==
        "count.yaml:5:3: error[call]: the call would take the machine more than 100 days: nothing "
        "is predicted\n"
        "   5 |   i: n\n"
        "     |   ^\n"
        "  hint: predict a smaller call that is cut into blocks the same way\n");
}

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr const char* kCapped = "";  // a sanitizer needs the address space
constexpr int kSlower = 10;          // than what --limit counts with
#else
constexpr const char* kCapped = "ulimit -v 2097152; ";
constexpr int kSlower = 1;
#endif

TEST_CASE("no command hangs on huge grids and arrays, or holds memory for them") {
  const LimitSpecs specs;
  const std::vector<std::string> commands = {
      "check {} --limit=1s",
      "run {} x=zeros --limit=1s",
      "run {} x=zeros --limit=1s --mode=direct",
      "run {} x=zeros --limit=1s --mode=emulate",
      "run {} x=zeros --limit=1s --no-grid-check --shuffle=1",
      "predict {} --limit=1s",
      "predict {} --limit=1s --cores=4096",
      "report {} --limit=1s --trace=trace.json",
      "bench {} --limit=1s",
      "tune {} --limit=1s --dry-run",
      "tune {} --limit=1s --dry-run --for=v4",
  };
  const std::vector<std::string> sizes = {
      "modulo.yaml n=2147483648 m=256",          "modulo.yaml n=4611686018427387904 m=256",
      "modulo.yaml n=9223372036854775807 m=256", "modulo.yaml n=2 m=9223372036854775807",
      "count.yaml n=4611686018427387904",        "large.yaml m=1099511627776",
      "large.yaml m=9223372036854775807",
  };
  std::string script = kCapped;
  for (const std::string& command : commands) {
    for (const std::string& size : sizes) {
      std::string line = command;
      line.replace(line.find("{}"), 2, size);
      script += "timeout " + std::to_string(20 * kSlower) + " kiln " + line +
                " >out 2>&1; s=$?; [ $s -le 2 ] && [ -s out ] || { echo '" + line +
                "' ended with $s; tail -3 out; }\n";
    }
  }
  const auto begin = std::chrono::steady_clock::now();
  const Shown shown = Shell(script, specs.folder.path());
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
  CHECK(shown.out == "");
  CHECK(shown.err == "");
  const auto runs = static_cast<double>(commands.size() * sizes.size());
  CHECK(seconds.count() / runs < 2 * kSlower);
}

/// What the tool writes to a terminal until `enough`, or for ten seconds. It is ended then.
std::string OnTerminal(const std::vector<std::string>& words, const fs::path& folder,
                       const std::string& enough) {
  const int terminal = posix_openpt(O_RDWR | O_NOCTTY);
  REQUIRE(terminal >= 0);
  REQUIRE(grantpt(terminal) == 0);
  REQUIRE(unlockpt(terminal) == 0);
  const std::string name = ptsname(terminal);
  std::vector<char*> arguments;
  for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  const pid_t child = fork();
  if (child == 0) {
    const int end = open(name.c_str(), O_RDWR | O_NOCTTY);
    dup2(end, STDERR_FILENO);
    if (chdir(folder.c_str()) == 0) execv(KILN_TOOL, arguments.data());
    _exit(99);
  }
  std::string seen;
  constexpr int kTries = 1200;  // two minutes, of which a sanitized program needs some
  for (int tries = 0; tries < kTries && !Contains(seen, enough); ++tries) {
    pollfd readable{terminal, POLLIN, 0};
    char text[512];
    if (poll(&readable, 1, 100) <= 0) continue;
    const ssize_t count = read(terminal, text, sizeof text);
    if (count > 0) seen.append(text, static_cast<size_t>(count));
  }
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  close(terminal);
  return seen;
}

TEST_CASE("a terminal shows after two seconds what takes so long, and how far it is") {
  const LimitSpecs specs;
  const std::vector<std::string> words = {"kiln",  "predict",      "modulo.yaml",
                                          "m=256", "n=2147483648", "--limit=1h"};
  const std::string seen = OnTerminal(words, specs.folder.path(), "predicting … 1 %");
  INFO(seen);
  CHECK(Contains(seen, "\r\x1b[Kpredicting … 1 %"));
}

}  // namespace
}  // namespace kiln::test
