// KILN_VERBOSE is read once in a process: the calls are made in children of the test program.
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <regex>
#include <string>
#include <thread>
#include <vector>

#include "kiln/call/call.h"
#include "kiln/call/context.h"
#include "tests/runtime/runtime_testing.h"
#include "tests/runtime/samples/matmul.h"

namespace kiln {
namespace {

/// The lines that the hidden tests of a tag write to standard error.
std::vector<std::string> LinesOf(const std::string& environment, const std::string& tag) {
  char program[4096];
  const ssize_t size = readlink("/proc/self/exe", program, sizeof(program) - 1);
  REQUIRE(size > 0);
  program[size] = '\0';
  // Where this program is another machine's: what runs it.
  const char* const emulator = std::getenv("KILN_EMULATOR");
  const std::string command = environment + " " + (emulator != nullptr ? emulator : "") + " '" +
                              program + "' '" + tag + "' 2>&1 >/dev/null </dev/null";
  FILE* const pipe = popen(command.c_str(), "r");
  REQUIRE(pipe != nullptr);
  std::vector<std::string> lines(1);
  for (int c = std::getc(pipe); c != EOF; c = std::getc(pipe)) {
    c == '\n' ? lines.emplace_back() : lines.back() += static_cast<char>(c);
  }
  CHECK(WEXITSTATUS(pclose(pipe)) == 0);
  lines.pop_back();  // what is behind the last line's end
  return lines;
}

constexpr const char* kFields =
    "kiln_verbose,kernel,arguments,specialization,mode,instructions,cores,status,milliseconds,"
    "command";

/// With T for its time.
std::string WithoutTime(const std::string& line) {
  static const std::regex time(",[0-9]+\\.[0-9]{4},");
  return std::regex_replace(line, time, ",T,");
}

void Nothing(const int&, Core&) {}

TEST_CASE("calls to be followed", "[.verbose]") {
  std::vector<float> x(64 * 80), o(64 * 80);
  const std::vector<int32_t> ids = {3, 0, -5}, many(300), table = {1, 0, 2, 7};
  const std::vector<int8_t> bytes(300);
  const Tensor<const float> rows(x.data(), {64, 70}, {80, 1});
  const Tensor<float> sums(o.data(), {64});
  Context context;
  {
    CallCheck check({.kernel = "sums", .spec = "sums.yaml", .set = "bm=32 T=f32"});
    const int64_t m = check.Dim("m", rows, "x", 0), n = check.Dim("n", rows, "x", 1);
    check.Input(rows, "x", {m, n});
    check.Input(Tensor<const int8_t>(bytes.data(), {300}), "w", {300});
    check.Output(sums, "o", {m});
    CHECK(check.Run(context, {&Nothing, &Nothing}, 0).ok());
  }
  {  // what decides is spelt out, scalars too
    CallCheck check({.kernel = "gather", .spec = "gather.yaml:f32"});
    check.Values(Tensor<const int32_t>(ids.data(), {3}), "ids", {3});
    check.Values(Tensor<const int32_t>(table.data(), {2, 2}), "table", {2, 2});
    check.Values(Tensor<const int32_t>(nullptr, {0}), "none", {0});
    check.Scalar(int32_t{-7}, "offset");
    check.Scalar(0.1f, "scale");
    check.Input(rows, "x", {64, 70});
    Options options = EmulatedOptions();
    options.cores = 2;
    options.dma = Dma::kEager;
    options.poison = Poison::kZero;
    options.shuffle = true;
    options.seed = 9;
    Context emulated(options);
    CHECK(check.Run(emulated, {&Nothing, &Nothing}, 0, /*specialization=*/2).ok());
  }
  {  // what decides and is too long: no command
    CallCheck check({.kernel = "long", .cores = 1, .spec = "long.yaml"});
    check.Values(Tensor<const int32_t>(many.data(), {300}), "ids", {300});
    const auto fail = [](const int&, Core& core) { core.Fail(kIndexRange, "there is no block 3"); };
    CHECK(!check.Run<int>(context, {fail, fail}, 0).ok());
  }
  CHECK(context.Run(&Nothing, 0, {.cores = 1}).ok());  // who says nothing of itself
  {  // what is refused, by the first thing that is wrong
    CallCheck check({.kernel = "sums", .spec = "sums.yaml"});
    check.Input(rows, "x", {64, 70});
    check.Output(sums, "o", {63});
    check.Require(false, "m > 1");
    CHECK(!check.Run(context, {&Nothing, &Nothing}, 0).ok());
  }
  CHECK(kiln_sample_matmul(nullptr, nullptr, nullptr, nullptr, nullptr, nullptr) == kCall);
}

TEST_CASE("A line a call: what was called, how it went, and the command that repeats it") {
  const auto lines = LinesOf("KILN_VERBOSE=1", "[.verbose]");
  REQUIRE(lines.size() == 7);
  CHECK(lines[0] == kFields);
  CHECK(WithoutTime(lines[1]) ==
        "kiln_verbose,sums,x:f32[64x70]/80x1 w:i8[300] o:f32[64],base,direct,,1,ok,T,"
        "kiln run sums.yaml x=random:1 w=random:2 m=64 n=70 --mode=direct --cores=1 --set bm=32 "
        "T=f32");
  CHECK(WithoutTime(lines[2]) ==
        "kiln_verbose,gather,ids:i32[3] table:i32[2x2] none:i32[0] "
        "x:f32[64x70]/80x1,variant_2,emulated,,2,ok,T,"
        "kiln run gather.yaml:f32 ids='[3,0,-5]' table='[[1,0],[2,7]]' none=zeros x=random:4 "
        "offset=-7 "
        "scale=0.10000000149011612 --mode=emulate --cores=2 --shuffle=9 --dma=eager --init=zero");
  CHECK(WithoutTime(lines[3]) == "kiln_verbose,long,ids:i32[300],base,direct,,1,index-range,T,");
  CHECK(WithoutTime(lines[4]) == "kiln_verbose,,,base,direct,,1,ok,T,");
  CHECK(lines[5] ==
        "kiln_verbose,sums,x:f32[64x70]/80x1,,,,0,call,0.0000,# sums: o has shape [64], expected "
        "[63]");
  CHECK(lines[6] == "kiln_verbose,sample_matmul,,,,,0,call,0.0000,# sample_matmul: x is null");
}

TEST_CASE("Without KILN_VERBOSE nothing is written") {
  for (const char* environment : {"env -u KILN_VERBOSE", "KILN_VERBOSE=", "KILN_VERBOSE=0"}) {
    INFO(environment);
    CHECK(LinesOf(environment, "[.verbose]").empty());
  }
}

TEST_CASE("kernels of threads", "[.verbose-threads]") {
  const auto call = [] {
    const std::vector<float> x(30 * 20), y(20 * 10), bias(10);
    std::vector<float> z(30 * 10);
    for (int i = 0; i < 50; ++i) {
      sample_matmul({x.data(), {30, 20}}, {y.data(), {20, 10}}, {bias.data(), {10}},
                    {z.data(), {30, 10}});
    }
  };
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) threads.emplace_back(call);
  for (std::thread& thread : threads) thread.join();
}

TEST_CASE("Lines of several threads do not mix; each has the instruction set") {
  const auto lines = LinesOf("KILN_VERBOSE=1", "[.verbose-threads]");
  REQUIRE(lines.size() == 1 + 8 * 50);
  CHECK(lines[0] == kFields);
  static const std::regex line(
      "kiln_verbose,sample_matmul,x:f32\\[30x20\\] y:f32\\[20x10\\] bias:f32\\[10\\] "
      "z:f32\\[30x10\\],base,direct,[A-Z][A-Za-z0-9_]*,1,ok,[0-9]+\\.[0-9]{4},kiln run "
      "samples.yaml "
      "x=random:1 y=random:2 bias=random:3 m=30 k=20 n=10 --mode=direct --cores=1");
  for (size_t i = 1; i < lines.size(); ++i) {
    INFO(lines[i]);
    CHECK(std::regex_match(lines[i], line));
  }
}

}  // namespace
}  // namespace kiln
