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

#ifndef KILN_SAMPLE_MATMUL_CALL
#define KILN_SAMPLE_MATMUL_CALL
namespace kiln::sample_matmul_text {

/// A checked call.
struct Call {
  Tensor<const float> x;
  Tensor<const float> y;
  Tensor<const float> bias;
  Tensor<float> z;
  int64_t m, k, n;
};

}  // namespace kiln::sample_matmul_text
#endif

KILN_BEFORE_NAMESPACE();
namespace kiln::sample_matmul_text {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;
using namespace kiln::HWY_NAMESPACE;  // NOLINT

// Steps of l, by what they do with the accumulators.
struct First {};       // acc = dot(x, y)
struct Middle {};      // acc += dot(x, y)
struct Last {};        // z = ...(acc + dot(x, y))
struct SingleStep {};  // z = ...(dot(x, y))

/// What one step sees.
struct Step {
  UnpackedA<float>::View x;
  PackedB<float>::View y;
  Tile<const float, 1> bias;
  Tile<float, 2> z;
  float* acc;
};

/// One step.
template <class When>
void Body(const Step& step) {
  constexpr bool kFirst = std::is_same_v<When, First> || std::is_same_v<When, SingleStep>;
  constexpr bool kLast = std::is_same_v<When, Last> || std::is_same_v<When, SingleStep>;
  // sample_matmul.yaml:35  acc += dot(x, y)
  const Accumulators sums(step.acc, step.x.rows, /*from_zero=*/kFirst);
  if constexpr (kLast) {
    // sample_matmul.yaml:38  z = T(gelu(acc + bias))
    const auto finish = [&](auto at, auto sum, size_t r, size_t c) HWY_ATTR {
      at.Store(Gelu(hn::Add(sum, at.Load(step.bias.At(c)))), step.z.At(r, c));
    };
    MultiplyTiles<Dot<float>>(step.x.rows, step.x, step.y, sums, Nothing(), finish, step.z);
  } else {
    MultiplyTiles<Dot<float>>(step.x.rows, step.x, step.y, sums);
  }
}

/// The grid of one core.
template <class Tiers>
void RunGrid(const Call& call, Core& core) {
  const int64_t steps_i = DivUp(call.m, 512);
  const int64_t steps_j = DivUp(call.n, 512);
  const int64_t steps_l = DivUp(call.k, 512);
  const Grid<3> grid({steps_i, steps_j, steps_l}, /*parallel=*/2, /*cut first=*/{1, 0}, core);

  typename Tiers::template In<UnpackedA<float>, 2> x(
      core, {"x", 0, 16}, call.x, {Blocked(512, Clip::kYes), Blocked(512, Clip::kYes)},
      Pad<float>(0.0f), /*buffers=*/2, /*window=*/steps_l);
  typename Tiers::template In<PackedB<float>, 2> y(
      core, {"y", 1, 21}, call.y, {Blocked(512, Clip::kYes), Blocked(512, Clip::kYes)},
      Pad<float>(0.0f), 2, steps_j * steps_l);
  typename Tiers::template In<Rows<float, 1>, 1> bias(core, {"bias", 2, 26}, call.bias,
                                                      {Blocked(512, Clip::kYes)}, NoPad(), 2, 1);
  typename Tiers::template Out<Rows<float, 2>, 2> z(
      core, {"z", 3, 28}, call.z, {Blocked(512, Clip::kYes), Blocked(512, Clip::kYes)}, NoInit(),
      2);
  float* const acc =
      Tiers::template Scratch<float>(core, {"acc", 4, 31}, AccumulatorSize(512, 512));

  auto at = grid.First();
  if (at.more) {
    x.CopyIn({at[0], at[2]});
    y.CopyIn({at[2], at[1]});
    bias.CopyIn({at[1]});
  }
  core.RunsOn(HWY_TARGET);
  while (at.more && core.ok()) {
    const auto next = grid.Next(at);
    if (next.more) {  // while this step computes
      x.CopyIn({next[0], next[2]});
      y.CopyIn({next[2], next[1]});
      bias.CopyIn({next[1]});
    }
    core.BeginStep(at.run);
    const Step step{x.WaitIn({at[0], at[2]}), y.WaitIn({at[2], at[1]}), bias.WaitIn({at[1]}),
                    z.Open({at[0], at[1]}, at.run), acc};
    if (!core.ok()) return;

    const bool first = at[2] == 0;
    const bool last = at[2] + 1 == steps_l;
    if (first && last) {
      Body<SingleStep>(step);
    } else if (first) {
      Body<First>(step);
    } else if (last) {
      Body<Last>(step);
    } else {
      Body<Middle>(step);
    }

    if (!next.more || z.Leaves({next[0], next[1]}, next.run)) z.CopyOut();
    at = next;
  }
  z.WaitOut();
}

void Run(const Call& call, Core& core) {
  if (core.emulated()) {
    RunGrid<Emulated>(call, core);
  } else {
    RunGrid<Direct>(call, core);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace kiln::sample_matmul_text
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace kiln {
namespace sample_matmul_text {
HWY_EXPORT(Run);
}

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
  return check.Run(context, KILN_DISPATCH(sample_matmul_text::Run), call);
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
