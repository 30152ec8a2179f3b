// Written by hand as Kiln would generate it from specs/matmul.yaml (matmul_f32): the runtime's
// tests compile it, so the runtime and the templates agree on this text.
//
//   grid   i: cdiv(m, 512) parallel, j: cdiv(n, 512) parallel, l: cdiv(k, 512)
//   x      f32[m, k]      block (512, 512)  index (i, l)  pad 0   packed as left panels
//   y      f32[k, n]      block (512, 512)  index (l, j)  pad 0   packed as right panels
//   bias   f32[n]         block (512)       index (j)             in place
//   z      f32[m, n]      block (512, 512)  index (i, j)          in place
//   acc    f32[512, 512]  accumulators, tile by tile

#include "tests/runtime/sample_matmul.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tests/runtime/sample_matmul.cc"
#include "hwy/foreach_target.h"  // first: compiles the rest once per target
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
struct First {};   // acc = dot(x, y)
struct Middle {};  // acc += dot(x, y)
struct Last {};    // z = ...(acc + dot(x, y))
struct Only {};    // z = ...(dot(x, y))

/// What one step sees.
struct Step {
  UnpackedA<float>::View x;
  PackedB<float>::View y;
  Tile<const float, 1> bias;
  Tile<float, 2> z;
  float* acc;
};

/// sample_matmul.yaml:34  acc = 0
template <class When, class At>
HWY_INLINE auto Start(const Step&, At, const float* acc) {
  if constexpr (std::is_same_v<When, First> || std::is_same_v<When, Only>) {
    return hn::Zero(kFloats);
  } else {
    return hn::Load(kFloats, acc);
  }
}

/// sample_matmul.yaml:38  z = T(gelu(acc + bias))
template <class When, class At, class V>
HWY_INLINE void Finish(const Step& step, At at, V sum, float* acc, size_t r, size_t c) {
  if constexpr (std::is_same_v<When, Last> || std::is_same_v<When, Only>) {
    const auto bias_0 = at.Load(step.bias.At(c));
    at.Store(Gelu(hn::Add(sum, bias_0)), step.z.At(r, c));
  } else {
    hn::Store(sum, kFloats, acc);
  }
}

/// A register tile: kRows rows of x by three vectors of columns of y, through all of k in the
/// block. Each `at` loads and stores one of the vectors: all lanes, or those inside the array.
template <class When, size_t kRows, class At_0, class At_1, class At_2>
HWY_NOINLINE void DotTile(const Step& step, const At_0 at_0, const At_1 at_1, const At_2 at_2,
                          const size_t r, const size_t c) {
  using T = Dot<float>;
  const size_t n = hn::Lanes(kFloats);
  const auto& x = step.x;
  const auto* words = x.At(r);  // of row r
  const auto columns = step.y.At(c, at_0, at_1, at_2);
  const auto acc = [&](size_t i, size_t v) {
    return AccumulatorAt(step.acc, x.rows, i < kRows ? r + i : r, c + v * n);
  };
  const auto begin = [&](auto at, size_t i, size_t v) HWY_ATTR {
    if constexpr (kHasLanes<decltype(at)>) return Start<When>(step, at, acc(i, v));
    return hn::Zero(kFloats);
  };

  auto acc_0_0 = begin(at_0, 0, 0), acc_0_1 = begin(at_1, 0, 1), acc_0_2 = begin(at_2, 0, 2);
  auto acc_1_0 = begin(at_0, 1, 0), acc_1_1 = begin(at_1, 1, 1), acc_1_2 = begin(at_2, 1, 2);
  auto acc_2_0 = begin(at_0, 2, 0), acc_2_1 = begin(at_1, 2, 1), acc_2_2 = begin(at_2, 2, 2);
  auto acc_3_0 = begin(at_0, 3, 0), acc_3_1 = begin(at_1, 3, 1), acc_3_2 = begin(at_2, 3, 2);
  auto acc_4_0 = begin(at_0, 4, 0), acc_4_1 = begin(at_1, 4, 1), acc_4_2 = begin(at_2, 4, 2);
  auto acc_5_0 = begin(at_0, 5, 0), acc_5_1 = begin(at_1, 5, 1), acc_5_2 = begin(at_2, 5, 2);
  auto acc_6_0 = begin(at_0, 6, 0), acc_6_1 = begin(at_1, 6, 1), acc_6_2 = begin(at_2, 6, 2);
  auto acc_7_0 = begin(at_0, 7, 0), acc_7_1 = begin(at_1, 7, 1), acc_7_2 = begin(at_2, 7, 2);

  const auto step_k = [&](auto y_0, auto y_1, auto y_2) KILN_INLINE_ATTR {
    T::StepRow(words[x.To(0)], y_0, y_1, y_2, acc_0_0, acc_0_1, acc_0_2);
    if constexpr (kRows > 1) T::StepRow(words[x.To(1)], y_0, y_1, y_2, acc_1_0, acc_1_1, acc_1_2);
    if constexpr (kRows > 2) T::StepRow(words[x.To(2)], y_0, y_1, y_2, acc_2_0, acc_2_1, acc_2_2);
    if constexpr (kRows > 3) T::StepRow(words[x.To(3)], y_0, y_1, y_2, acc_3_0, acc_3_1, acc_3_2);
    if constexpr (kRows > 4) T::StepRow(words[x.To(4)], y_0, y_1, y_2, acc_4_0, acc_4_1, acc_4_2);
    if constexpr (kRows > 5) T::StepRow(words[x.To(5)], y_0, y_1, y_2, acc_5_0, acc_5_1, acc_5_2);
    if constexpr (kRows > 6) T::StepRow(words[x.To(6)], y_0, y_1, y_2, acc_6_0, acc_6_1, acc_6_2);
    if constexpr (kRows > 7) T::StepRow(words[x.To(7)], y_0, y_1, y_2, acc_7_0, acc_7_1, acc_7_2);
    words += x.to_k;
  };
  size_t k = 0;
  for (; k + 1 < columns.last; k += 2) {
    columns.Load(k, step_k);
    columns.Load(k + 1, step_k);
  }
  for (; k < x.depth; ++k) columns.LoadLast(k, step_k);

  const auto finish_row = [&](auto sum_0, auto sum_1, auto sum_2, size_t i) HWY_ATTR {
    Finish<When>(step, at_0, sum_0, acc(i, 0), r + i, c);
    if constexpr (kHasLanes<At_1>) Finish<When>(step, at_1, sum_1, acc(i, 1), r + i, c + n);
    if constexpr (kHasLanes<At_2>) Finish<When>(step, at_2, sum_2, acc(i, 2), r + i, c + 2 * n);
  };
  finish_row(acc_0_0, acc_0_1, acc_0_2, 0);
  if constexpr (kRows > 1) finish_row(acc_1_0, acc_1_1, acc_1_2, 1);
  if constexpr (kRows > 2) finish_row(acc_2_0, acc_2_1, acc_2_2, 2);
  if constexpr (kRows > 3) finish_row(acc_3_0, acc_3_1, acc_3_2, 3);
  if constexpr (kRows > 4) finish_row(acc_4_0, acc_4_1, acc_4_2, 4);
  if constexpr (kRows > 5) finish_row(acc_5_0, acc_5_1, acc_5_2, 5);
  if constexpr (kRows > 6) finish_row(acc_6_0, acc_6_1, acc_6_2, 6);
  if constexpr (kRows > 7) finish_row(acc_7_0, acc_7_1, acc_7_2, 7);
}

/// One step.
template <class When>
void Body(const Step& step) {
  // sample_matmul.yaml:35  acc += dot(x, y)
  ForTiles(kFloats, step.x.rows, step.y.cols, step.x.depth * sizeof(float),
           [&](auto rows, auto at_0, auto at_1, auto at_2, size_t r, size_t c)
               HWY_ATTR { DotTile<When, rows()>(step, at_0, at_1, at_2, r, c); });
}

/// The grid of one core.
template <class Tiers>
void Walk(const Call& call, Core& core) {
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
      Body<Only>(step);
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
    Walk<Emulated>(call, core);
  } else {
    Walk<Direct>(call, core);
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
  CallCheck check("sample_matmul");
  call.m = check.Dim(x, "x", 0);
  call.k = check.Dim(x, "x", 1);
  call.n = check.Dim(y, "y", 1);
  check.Input(x, "x", {call.m, call.k});
  check.Input(y, "y", {call.k, call.n});
  check.Input(bias, "bias", {call.n});
  check.Output(z, "z", {call.m, call.n});
  if (!check.ok()) return check.status();
  return context.Run(KILN_DISPATCH(sample_matmul_text::Run), call);
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
