// Written by hand as Kiln would generate it from specs/matmul.yaml (matmul_f32): the runtime's
// tests compile it, so the runtime and the templates agree on this text.
//
//   grid   i: cdiv(m, 512) parallel, j: cdiv(n, 512) parallel, l: cdiv(k, 512)
//   x      f32[m, k]      block (512, 512)  index (i, l)  pad 0   packed as left panels
//   y      f32[k, n]      block (512, 512)  index (l, j)  pad 0   packed as right panels
//   bias   f32[n]         block (512)       index (j)             in place
//   z      f32[m, n]      block (512, 512)  index (i, j)          in place
//   acc    f32[512, 512]  accumulators, tile by tile

#include "tests/runtime/samples/matmul.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tests/runtime/samples/matmul.cc"
#include "hwy/foreach_target.h"  // first: compiles the rest once per target
#include "kiln/dot/panels-inl.h"
#include "kiln/kiln-inl.h"

#ifndef KILN_SAMPLE_MATMUL_TEXT
#define KILN_SAMPLE_MATMUL_TEXT
namespace kiln::sample_matmul_text {
/// A checked call.
struct Call {
  Tensor<const float> x, y, bias;
  Tensor<float> z;
  int64_t m, k, n;
};

/// What one step sees.
struct Step {
  Core& core;
  const Point<3> point;
  const std::array<int64_t, 3>& steps;
  DotView x, y;
  Tile<const float, 1> bias;
  Tile<float, 2> z;
  float* acc;
};

/// What the instruction set decides.
struct Target {
  DotFormat<2> x_format, y_format;
  size_t acc_count;
};
}  // namespace kiln::sample_matmul_text
#endif

KILN_BEFORE_NAMESPACE();
namespace kiln::sample_matmul_text::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;
using namespace kiln::HWY_NAMESPACE;  // NOLINT

// Steps of l, by what they do with the accumulators.
struct First {};       // acc = dot(x, y)
struct Middle {};      // acc += dot(x, y)
struct Last {};        // z = ...(acc + dot(x, y))
struct SingleStep {};  // z = ...(dot(x, y))

template <class When>
void Body(const Step& step, When) {
  constexpr bool kFirst = std::is_same_v<When, First> || std::is_same_v<When, SingleStep>;
  constexpr bool kLast = std::is_same_v<When, Last> || std::is_same_v<When, SingleStep>;
  const auto x = ViewOf<UnpackedA<float>>(step.x);
  const auto y = ViewOf<PackedB<float>>(step.y);
  // sample_matmul.yaml:35  acc += dot(x, y)
  const Accumulators sums(step.acc, x.rows, /*from_zero=*/kFirst);
  if constexpr (kLast) {
    // sample_matmul.yaml:38  z = T(gelu(acc + bias))
    const auto finish = [&](auto at, auto sum, size_t r, size_t c) HWY_ATTR {
      at.Store(Gelu(hn::Add(sum, at.Load(step.bias.At(c)))), step.z.At(r, c));
    };
    MultiplyTiles<Dot<float>>(x.rows, x, y, sums, Nothing(), finish, step.z);
  } else {
    MultiplyTiles<Dot<float>>(x.rows, x, y, sums);
  }
}

/// What one step does.
static void RunStep(const Step& step) {
  step.core.RunsOn(HWY_TARGET);
  const bool first = step.point[2] == 0;
  const bool last = step.point[2] + 1 == step.steps[2];
  if (first && last) {
    Body(step, SingleStep());
  } else if (first) {
    Body(step, First());
  } else if (last) {
    Body(step, Last());
  } else {
    Body(step, Middle());
  }
}

static Target MakeTarget() {
  return {kDotFormat<UnpackedA<float>, 2>, kDotFormat<PackedB<float>, 2>,
          AccumulatorSize(512, 512)};
}
}  // namespace kiln::sample_matmul_text::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace kiln::sample_matmul_text {
HWY_EXPORT(RunStep);
HWY_EXPORT(MakeTarget);

/// The grid of one core.
template <class Tiers>
static void RunGrid(const Call& call, Core& core) {
  const Target target = KILN_DISPATCH(MakeTarget)();
  const std::array<int64_t, 3> steps{DivUp(call.m, 512), DivUp(call.n, 512), DivUp(call.k, 512)};
  const Grid<3> grid(steps, /*parallel=*/2, /*cut first=*/{1, 0}, core);

  const std::array block = {Blocked(512, Clip::kYes), Blocked(512, Clip::kYes)};
  DotIn<Tiers, float, 2> x(core, {"x", 0, 16}, target.x_format, call.x, block, Pad<float>(0.0f),
                           /*buffers=*/2, /*window=*/steps[2]);
  DotIn<Tiers, float, 2> y(core, {"y", 1, 21}, target.y_format, call.y, block, Pad<float>(0.0f),
                           /*buffers=*/2, /*window=*/steps[1] * steps[2]);
  In<Tiers, Rows<float, 1>, 1> bias(core, {"bias", 2, 26}, call.bias, {Blocked(512, Clip::kYes)},
                                    NoPad(), /*buffers=*/2, /*window=*/1);
  Out<Tiers, Rows<float, 2>, 2> z(core, {"z", 3, 28}, call.z, block);
  float* const acc_memory =
      Tiers::template Scratch<float>(core, {"acc", 4, 31}, target.acc_count, {512, 512});
  if (!core.ok()) return;

  const auto body = KILN_DISPATCH(RunStep);
  const auto copy_in = [&](const Point<3>& at) {
    x.CopyIn({at[0], at[2]});
    y.CopyIn({at[2], at[1]});
    bias.CopyIn({at[1]});
  };
  const auto run_step = [&](const Point<3>& at, const Point<3>& next) {
    const Step step{core,
                    at,
                    steps,
                    x.WaitIn({at[0], at[2]}),
                    y.WaitIn({at[2], at[1]}),
                    bias.WaitIn({at[1]}),
                    z.Open({at[0], at[1]}, at.run),
                    acc_memory};
    if (!RunBody(body, step)) return;
    if (!next.more || z.Leaves({next[0], next[1]}, next.run)) z.CopyOut();
  };
  ForSteps(grid, core, copy_in, run_step);
  z.WaitOut();
}
}  // namespace kiln::sample_matmul_text

namespace kiln {

Status sample_matmul(const Tensor<const float>& x, const Tensor<const float>& y,
                     const Tensor<const float>& bias, const Tensor<float>& z, Context& context) {
  using sample_matmul_text::Call;
  Call call{x, y, bias, z, 0, 0, 0};
  CallCheck check({.kernel = "sample_matmul", .spec = "samples.yaml"});
  call.m = check.Dim("m", x, "x", 0);
  call.k = check.Dim("k", x, "x", 1);
  call.n = check.Dim("n", y, "y", 1);
  check.Input(x, "x", {call.m, call.k});
  check.Input(y, "y", {call.k, call.n});
  check.Input(bias, "bias", {call.n});
  check.Output(z, "z", {call.m, call.n});
  return check.Run(context, KILN_GRIDS(sample_matmul_text::RunGrid), call);
}

}  // namespace kiln

extern "C" int32_t kiln_sample_matmul(const DLTensor* x, const DLTensor* y, const DLTensor* bias,
                                      const DLTensor* z, kiln_context* context,
                                      kiln_status* status) {
  kiln::TensorArguments arguments("sample_matmul", status);
  const auto x_tensor = arguments.Get<const float>(x, "x");
  const auto y_tensor = arguments.Get<const float>(y, "y");
  const auto bias_tensor = arguments.Get<const float>(bias, "bias");
  const auto z_tensor = arguments.Get<float>(z, "z");
  if (!arguments.ok()) return arguments.code();
  return arguments.Return(
      kiln::sample_matmul(x_tensor, y_tensor, bias_tensor, z_tensor, kiln::ContextOf(context)));
}
#endif
