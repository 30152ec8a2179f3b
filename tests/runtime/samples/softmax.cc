// Written by hand as Kiln would generate it; a general body: rows of softmax, and their sums.
//
//   grid   i: cdiv(m, 256) parallel
//   x      bf16[m, n]  block (256, all)  index (i, 0)   in place
//   z      bf16[m, n]  block (256, all)  index (i, 0)   in place
//   s      f32[m]      block (256)       index (i)      in place
//   e      f32[256, n] a value that is used twice
//
//   body:
//     let high = max(x, axis=1, keep=true)
//     let e = exp(x - high)
//     s = sum(e, axis=1)
//     z = bf16(e / expand(s, 1))

#include "tests/runtime/samples/softmax.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tests/runtime/samples/softmax.cc"
#include "hwy/foreach_target.h"  // first: compiles the rest once per target
#include "kiln/kiln-inl.h"

#ifndef KILN_SAMPLE_SOFTMAX_TEXT
#define KILN_SAMPLE_SOFTMAX_TEXT
namespace kiln::sample_softmax_text {
/// A checked call.
struct Call {
  Tensor<const bf16> x;
  Tensor<bf16> z;
  Tensor<float> s;
  int64_t m, n;
};

/// What one step sees.
struct Step {
  Core& core;
  Tile<const bf16, 2> x;
  Tile<bf16, 2> z;
  Tile<float, 1> s;
  Tile<float, 2> e;
};
}  // namespace kiln::sample_softmax_text
#endif

KILN_BEFORE_NAMESPACE();
namespace kiln::sample_softmax_text::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;
using namespace kiln::HWY_NAMESPACE;  // NOLINT

/// What one step does.
static void RunStep(const Step& step) {
  step.core.RunsOn(HWY_TARGET);
  const auto& x = step.x;
  const auto& z = step.z;
  const auto& s = step.s;
  const auto& e = step.e;
  const size_t rows = z.high[0];
  const size_t cols = z.high[1];

  for (size_t r = 0; r < rows; ++r) {
    // softmax.yaml:14  let high = max(x, axis=1, keep=true)
    const float high = MaxLanes<float>(
        kFloats, cols, [&](auto at, size_t c) HWY_ATTR { return at.Load(x.At(r, c)); });
    // softmax.yaml:15  let e = exp(x - high)
    ForLanes(kFloats, cols, [&](auto at, size_t c) HWY_ATTR {
      at.Store(Exp(hn::Sub(at.Load(x.At(r, c)), at.Splat(high))), e.At(r, c));
    });
    // softmax.yaml:16  s = sum(e, axis=1)
    const float s_0 = SumLanes<float>(
        kFloats, cols, [&](auto at, size_t c) HWY_ATTR { return at.Load(e.At(r, c)); });
    *s.At(r) = s_0;
    // softmax.yaml:17  z = bf16(e / expand(s, 1))
    ForLanes(kFloats, cols, [&](auto at, size_t c) HWY_ATTR {
      at.Store(hn::Div(at.Load(e.At(r, c)), at.Splat(s_0)), z.At(r, c));
    });
  }
}
}  // namespace kiln::sample_softmax_text::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace kiln::sample_softmax_text {
HWY_EXPORT(RunStep);

/// The grid of one core.
template <class Tiers>
static void RunGrid(const Call& call, Core& core) {
  const std::array<int64_t, 1> steps{DivUp(call.m, 256)};
  const Grid<1> grid(steps, /*parallel=*/1, /*cut first=*/{0}, core);

  const std::array block = {Blocked(256, Clip::kYes), All(call.n)};
  In<Tiers, Rows<bf16, 2>, 2> x(core, {"x", 0, 5}, call.x, block, NoPad(), /*buffers=*/2,
                                /*window=*/1);
  Out<Tiers, Rows<bf16, 2>, 2> z(core, {"z", 1, 7}, call.z, block);
  Out<Tiers, Rows<float, 1>, 1> s(core, {"s", 2, 8}, call.s, {Blocked(256, Clip::kYes)});
  float* const e = Tiers::template Scratch<float>(core, {"e", 3, 11}, TileSize<float>(256, call.n),
                                                  {256, call.n});
  if (!core.ok()) return;

  const auto body = KILN_DISPATCH(RunStep);
  const auto copy_in = [&](const Point<1>& at) { x.CopyIn({at[0], 0}); };
  const auto run_step = [&](const Point<1>& at, const Point<1>& next) {
    const Step step{core, x.WaitIn({at[0], 0}), z.Open({at[0], 0}, at.run), s.Open({at[0]}, at.run),
                    MakeTile(e, 256, call.n)};
    if (!RunBody(body, step)) return;
    if (!next.more || z.Leaves({next[0], 0}, next.run)) z.CopyOut();
    if (!next.more || s.Leaves({next[0]}, next.run)) s.CopyOut();
  };
  ForSteps(grid, core, copy_in, run_step);
  z.WaitOut();
  s.WaitOut();
}
}  // namespace kiln::sample_softmax_text

namespace kiln {

Status sample_softmax(const Tensor<const bf16>& x, const Tensor<bf16>& z, const Tensor<float>& s,
                      Context& context) {
  using sample_softmax_text::Call;
  Call call{x, z, s, 0, 0};
  CallCheck check({.kernel = "sample_softmax"});
  call.m = check.Dim("m", x, "x", 0);
  call.n = check.Dim("n", x, "x", 1);
  check.Input(x, "x", {call.m, call.n});
  check.Output(z, "z", {call.m, call.n});
  check.Output(s, "s", {call.m});
  return check.Run(context, KILN_GRIDS(sample_softmax_text::RunGrid), call);
}
}  // namespace kiln

extern "C" int32_t kiln_sample_softmax(const DLTensor* x, const DLTensor* z, const DLTensor* s,
                                       kiln_context* context, kiln_status* status) {
  kiln::TensorArguments arguments("sample_softmax", status);
  const auto x_tensor = arguments.Get<const kiln::bf16>(x, "x");
  const auto z_tensor = arguments.Get<kiln::bf16>(z, "z");
  const auto s_tensor = arguments.Get<float>(s, "s");
  if (!arguments.ok()) return arguments.code();
  return arguments.Return(
      kiln::sample_softmax(x_tensor, z_tensor, s_tensor, kiln::ContextOf(context)));
}
#endif

// Sum over the other axis: lanes stay apart, rows are folded inside.
//   z = sum(x, axis=0)
//   ForLanes(kFloats, cols, [&](auto at, size_t c) HWY_ATTR {
//     auto sum = at.Splat(0.0f);
//     for (size_t r = 0; r < rows; ++r) sum = hn::Add(sum, at.Load(x.At(r, c)));
//     at.Store(sum, z.At(c));
//   });
//
// A masked store, coordinates, a comparison, a select; `ids` is an i8 array:
//   z[where(...)] = ...:   at.StoreIf(Lt(a, b), v, z.At(r, c));
//   iota along lanes:      at.Iota(static_cast<int32_t>(c));      -> i32 vector c, c + 1, …
//   where(c, a, b):        Select(c, a, b);                       -> masks are those of 32-bit
//   lanes i8(x) of an i32 value: Cast<int32_t, int8_t>(v);              -> still an i32 vector
//   bf16(x) kept in registers: Cast<float, bf16>(v);              -> still a float vector, rounded
//   f32(i):                Cast<int32_t, float>(v)
//   f64 in the loop:       kDoubles instead of kFloats: then at.Load(const float*) gives a half
//   vector
