// What a call is bound by, of totals that are made up.
#include "generator/predict/cost.h"

#include "tests/catch.h"

namespace kiln {
namespace {

/// Of a core that waits, multiplies and has overhead for so many seconds, and whose copies take so
/// long; all steps are as long as they are at least.
std::string BoundOf(double wait, double mxu, double overhead, double dma, double floors) {
  Machine machine;
  machine.clock = 1;
  machine.step_cycles = floors;
  Timeline timeline;
  TimelineCore core;
  core.totals.steps = 1;
  core.totals.wait = wait;
  core.totals.mxu = mxu;
  core.totals.overhead = overhead;
  core.totals.dma = dma;
  core.totals.seconds = wait + mxu + overhead;
  timeline.cores = {core};
  return SummaryOf(timeline, machine).bound;
}

TEST_CASE("a call is bound by what most of its time goes into, or by copies that take longest") {
  CHECK(BoundOf(1, 90, 9, 60, 50) == "MXU");
  CHECK(BoundOf(5, 5, 90, 20, 95) == "steps");
  CHECK(BoundOf(5, 90, 5, 95, 10) == "HBM");    // waits are short, as copies run beside the dots
  CHECK(BoundOf(60, 30, 10, 25, 40) == "HBM");  // waits of single steps
  // Steps that are as short as can be are no bound where the time goes elsewhere.
  CHECK(BoundOf(23, 65, 12, 60, 90) == "MXU");
  CHECK(BoundOf(0, 10, 90, 99, 100) == "steps");
}

}  // namespace
}  // namespace kiln
