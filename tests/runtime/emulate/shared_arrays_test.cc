// Arrays that a copy by hand shares with other cores, with blocks of the pipeline and with aliases.
#include <string>

#include "tests/runtime/emulate/dma_testing.h"

namespace kiln::dma_test {
namespace {

TEST_CASE("Steps that are parallel must not write one element by hand, on whatever core") {
  Bench bench;
  Core second;
  second.Reset(1, 2, EmulatedOptions(), {"kernel", nullptr},
               {&bench.lone.visits, &bench.lone.touches});
  Copies copies(second);
  copies.Writes(kY);
  second.BeginStep(1);
  bench.Start(bench.OfTile(Bench::Part(0, 2, 0, 6)), bench.OfY(Bench::Part(0, 2, 0, 6)));
  bench.Wait();
  const CopyEnd from = PartOf("tile", bench.tile, Bench::Part(0, 2, 0, 6));
  copies.Start(kSent, 0, 4, from, PartOf(kY, bench.y.tensor, Bench::Part(2, 2, 0, 6)));
  CHECK(copies.Wait(kSent, 0));
  const float& shared = bench.y.tensor.data[bench.y.tensor.stride[0]];  // core 0 may be at it now
  const float written = shared;
  CHECK_FALSE(copies.Start(kSent, 0, 4, from, PartOf(kY, bench.y.tensor, Bench::Part(1, 2, 0, 6))));
  CHECK(shared == written);
  CHECK(second.status().code == kRace);
  CHECK(std::string(second.status().message) ==
        "kernel: [race] y[1, 0] (line 6) is written by steps that differ along a parallel axis, on "
        "cores 0 and 1");
}

TEST_CASE("Steps that are parallel must not read by hand what one of them writes") {
  Bench bench;
  bench.Start(bench.OfTile(Bench::Part(0, 1, 0, 6)), bench.OfY(Bench::Part(3, 1, 0, 6)));
  bench.Wait();
  bench.lone.core.BeginStep(0);
  CHECK(bench.Start(bench.OfY(Bench::Part(3, 1, 0, 6)), bench.OfTile(Bench::Part(1, 1, 0, 6))));
  CHECK(bench.Wait());
  bench.lone.core.BeginStep(1);
  CHECK_FALSE(
      bench.Start(bench.OfY(Bench::Part(3, 1, 2, 4)), bench.OfTile(Bench::Part(1, 1, 2, 4))));
  CHECK(bench.lone.message() ==
        "kernel: [race] y[3, 2] (line 6) is read on core 0 and its memory written on core 0, by "
        "steps that differ along a parallel axis");
}

using Out2 = Emulated::Out<Rows<float, 2>, 2>;
using In2 = Emulated::In<Rows<float, 2>, 2>;

TEST_CASE("A manual copy of memory that the blocks of an output have taken over") {
  Bench bench(EmulatedOptions(), /*x_lent_to=*/2);
  Out2 out(bench.lone.core, {"o", 2, 9}, bench.x.tensor, {Blocked(2), Blocked(6)}, Init<float>(0),
           2);
  out.Watch();
  out.Open({1, 0}, 0);
  // The block of this step is not yet written, whatever the pipeline does.
  CHECK(bench.Start(bench.OfX(Bench::Part(2, 1, 0, 6)), bench.OfTile(Bench::Part(2, 1, 0, 6))));
  CHECK(bench.Wait());
  bench.lone.core.BeginStep(0);
  CHECK(bench.Start(bench.OfX(Bench::Part(0, 2, 0, 6)), bench.OfTile(Bench::Part(0, 2, 0, 6))));
  CHECK(bench.Wait());
  CHECK_FALSE(
      bench.Start(bench.OfX(Bench::Part(1, 2, 0, 6)), bench.OfTile(Bench::Part(0, 2, 0, 6))));
  CHECK(bench.lone.core.status().code == kAlias);
  CHECK(bench.lone.message().find("x[2, 0] (line 5) is copied in on core 0 after an earlier step "
                                  "has visited its memory as an output") != std::string::npos);
}

TEST_CASE("An output's block upon what a manual copy wrote") {
  Bench bench;
  Out2 out(bench.lone.core, kY, bench.y.tensor, {Blocked(2), Blocked(6)}, Init<float>(0), 2);
  out.Watch();
  bench.Start(bench.OfTile(Bench::Part(0, 1, 0, 1)), bench.OfY(Bench::Part(3, 1, 5, 1)));
  bench.Wait();
  out.Open({0, 0}, 0);
  CHECK(bench.lone.core.ok());
  out.CopyOut();
  out.Open({1, 0}, 0);
  CHECK(bench.lone.core.status().code == kRevisit);
}

/// An output in blocks of `rows` rows takes over the memory of an input in blocks of 2 rows: what
/// is found when the input brings block `index` after the output's block 1 has been visited.
std::string ReadLate(int64_t rows, int64_t index, int64_t run) {
  Bench bench;
  In2 in(bench.lone.core, kX, bench.x.tensor, {Blocked(2), Blocked(3)}, NoPad(), 2, 1);
  Out2 out(bench.lone.core, {"o", 2, 9}, bench.x.tensor, {Blocked(rows), Blocked(6)},
           Init<float>(0), 2);
  in.LendTo(2);
  out.Watch();
  out.Open({1, 0}, 0);
  bench.lone.core.BeginStep(run);
  in.CopyIn({index, 1});
  in.WaitIn({index, 1});
  return NameOf(bench.lone.core.status().code);
}

TEST_CASE("An input is read after blocks of other sizes have taken over its memory") {
  CHECK(ReadLate(2, 0, 0) == "ok");
  CHECK(ReadLate(2, 1, 0) == "alias");
  CHECK(ReadLate(1, 0, 0) == "alias");
  CHECK(ReadLate(1, 1, 0) == "ok");
  CHECK(ReadLate(3, 1, 0) == "alias");
  CHECK(ReadLate(3, 0, 0) == "ok");
  CHECK(ReadLate(1, 0, 1) == "race");
  CHECK(ReadLate(1, 1, 1) == "ok");
}

TEST_CASE("Windows by the element overlap without being equal") {
  Sample<float, 1> sample({8});
  LoneCore lone(EmulatedOptions());
  Emulated::Out<Rows<float, 1>, 1> z(lone.core, {"z", 0, 3}, sample.tensor, {Element(3)},
                                     Init<float>(0), 2);
  z.Watch();
  lone.core.BeginStep(0);
  for (const int64_t i : {0, 3}) {
    z.Open({i}, 0);
    z.CopyOut();
  }
  CHECK(lone.core.ok());
  z.Open({5}, 0);
  CHECK(lone.core.status().code == kRevisit);
}

}  // namespace
}  // namespace kiln::dma_test
