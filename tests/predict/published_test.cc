// The model against times that were measured on a TPU v5e and published with Pallas' guide to
// matmuls: bf16 operands, an f32 accumulator, the time of a call from the host's view.
#include "tests/catch.h"
#include "tests/predict/predicting.h"

namespace kiln::test {
namespace {

struct Published {
  int64_t size;  // m, k and n
  int64_t bm, bk, bn;
  double seconds;
};

TEST_CASE("published times of a matmul come out within 5 %") {
  const Published all[] = {{1024, 128, 128, 128, 0.00029767},
                           {4096, 128, 128, 128, 0.01177152},
                           {1024, 512, 1024, 1024, 0.00012709},
                           {4096, 512, 1024, 1024, 0.00088909}};
  const Machine v5e = MachineOf("v5e");
  for (const Published& of : all) {
    const Subject matmul = Shipped("matmul_scratch", Blocks(of.bm, of.bk, of.bn),
                                   {{"m", of.size}, {"k", of.size}, {"n", of.size}});
    const double seconds = matmul.CostOn(v5e).seconds;
    INFO(of.size << " in blocks of " << of.bm << ": " << seconds << ", published " << of.seconds);
    CHECK(seconds > of.seconds * 0.95);
    CHECK(seconds < of.seconds * 1.05);
  }
}

}  // namespace
}  // namespace kiln::test
