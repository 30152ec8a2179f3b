// The kernels of the records with other blocks are planned, verified and written. `blocks` runs
// some of them, or all.
#include <cstdlib>
#include <iostream>

#include "generator/generate/generate.h"
#include "tests/catch.h"
#include "tests/records/other_blocks.h"

namespace kiln::testing {
namespace {

/// False: the spec does not allow these. Throws what the planner cannot do.
bool Write(const RecordCase& of) {
  std::shared_ptr<const Source> source;
  std::unique_ptr<Kernel> kernel;
  try {
    kernel = CheckRecord(of, &source);
  } catch (const std::exception&) {
    return false;
  }
  Diagnostics found;
  Generated text;
  const bool written = Generate(*kernel, of.spec, found, &text);
  if (written == found.HasErrors()) throw std::runtime_error("a refusal without a diagnostic");
  return written;
}

TEST_CASE("kernels of the records are planned with blocks of one, odd ones and large ones") {
  int written = 0, refused = 0;
  for (const RecordCase& of : CasesOfOtherBlocks()) {
    INFO(of.name);
    CHECK_NOTHROW(++(Write(of) ? written : refused));
  }
  std::cout << written << " kernels with other blocks, " << refused
            << " that the specs do not allow\n";
  CHECK(written > 1000);
}

}  // namespace
}  // namespace kiln::testing
