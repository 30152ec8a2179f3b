// Matrices of 32-bit lanes, as many rows as a vector has lanes, transposed in registers.
#if defined(KILN_TRANSPOSE_INL_H_) == defined(HWY_TARGET_TOGGLE)  // once per target
#ifdef KILN_TRANSPOSE_INL_H_
#undef KILN_TRANSPOSE_INL_H_
#else
#define KILN_TRANSPOSE_INL_H_
#endif

#include <stddef.h>
#include <stdint.h>

#include "kiln/core/version.h"

KILN_BEFORE_NAMESPACE();
namespace kiln::inline KILN_ABI {
namespace HWY_NAMESPACE {

/// Whether Transpose has a way for lanes of D: 4, 8 or 16 of them, in a register of a known size.
template <class D>
inline constexpr bool kTransposes = !HWY_HAVE_SCALABLE && HWY_TARGET != HWY_SCALAR &&
                                    sizeof(hn::TFromD<D>) == 4 && hn::MaxLanes(D()) >= 4;

#if HWY_TARGET != HWY_SCALAR && !HWY_HAVE_SCALABLE

/// Four vectors, in each of their blocks of 128 bits.
template <class D, class V>
HWY_INLINE void TransposeInBlocks(D d, V& v_0, V& v_1, V& v_2, V& v_3) {
  const hn::Repartition<uint64_t, D> d64;
  const auto wide = [&](V v) HWY_ATTR { return hn::BitCast(d64, v); };
  const auto low_01 = wide(hn::InterleaveLower(d, v_0, v_1));
  const auto high_01 = wide(hn::InterleaveUpper(d, v_0, v_1));
  const auto low_23 = wide(hn::InterleaveLower(d, v_2, v_3));
  const auto high_23 = wide(hn::InterleaveUpper(d, v_2, v_3));
  v_0 = hn::BitCast(d, hn::InterleaveLower(d64, low_01, low_23));
  v_1 = hn::BitCast(d, hn::InterleaveUpper(d64, low_01, low_23));
  v_2 = hn::BitCast(d, hn::InterleaveLower(d64, high_01, high_23));
  v_3 = hn::BitCast(d, hn::InterleaveUpper(d64, high_01, high_23));
}

/// Vectors as a matrix of blocks of 128 bits, as many as a vector has.
template <class D, class V>
HWY_INLINE void TransposeBlocks(D d, V& a, V& b) {
  const V lower = hn::ConcatLowerLower(d, b, a);
  b = hn::ConcatUpperUpper(d, b, a);
  a = lower;
}
#if HWY_MAX_BYTES >= 64
template <class D, class V>
HWY_INLINE void TransposeBlocks(D d, V& a, V& b, V& c, V& e) {
  // The intrinsic, of which Highway would need three for what is one.
  const hn::Repartition<float, D> df;
  const auto even = [&](V x, V y) HWY_ATTR {
    return hn::BitCast(d, hn::VFromD<decltype(df)>{_mm512_shuffle_f32x4(
                              hn::BitCast(df, x).raw, hn::BitCast(df, y).raw, 0x88)});
  };
  const auto odd = [&](V x, V y) HWY_ATTR {
    return hn::BitCast(d, hn::VFromD<decltype(df)>{_mm512_shuffle_f32x4(
                              hn::BitCast(df, x).raw, hn::BitCast(df, y).raw, 0xDD)});
  };
  const V ab_0 = hn::ConcatLowerLower(d, b, a), ab_1 = hn::ConcatUpperUpper(d, b, a);
  const V ce_0 = hn::ConcatLowerLower(d, e, c), ce_1 = hn::ConcatUpperUpper(d, e, c);
  a = even(ab_0, ce_0);
  b = odd(ab_0, ce_0);
  c = even(ab_1, ce_1);
  e = odd(ab_1, ce_1);
}
#endif

/// store(v, i) gets column i of the matrix whose row i is load(i).
template <class D, class Load, class Store>
HWY_INLINE void Transpose(D d, const Load& load, const Store& store) {
  static_assert(kTransposes<D>);
  using V = hn::Vec<D>;
  constexpr size_t kLanes = hn::MaxLanes(D());
  // Of rows 4 i to 4 i + 3, v_i_j has columns j, j + 4, j + 8 … after the first step.
  V v_0_0 = load(0), v_0_1 = load(1), v_0_2 = load(2), v_0_3 = load(3);
  TransposeInBlocks(d, v_0_0, v_0_1, v_0_2, v_0_3);
  if constexpr (kLanes == 4) {
    store(v_0_0, 0);
    store(v_0_1, 1);
    store(v_0_2, 2);
    store(v_0_3, 3);
  } else {
    V v_1_0 = load(4), v_1_1 = load(5), v_1_2 = load(6), v_1_3 = load(7);
    TransposeInBlocks(d, v_1_0, v_1_1, v_1_2, v_1_3);
    if constexpr (kLanes == 8) {
      const auto store_2 = [&](V a, V b, size_t i) HWY_ATTR {
        TransposeBlocks(d, a, b);
        store(a, i);
        store(b, i + 4);
      };
      store_2(v_0_0, v_1_0, 0);
      store_2(v_0_1, v_1_1, 1);
      store_2(v_0_2, v_1_2, 2);
      store_2(v_0_3, v_1_3, 3);
    } else {
      static_assert(kLanes == 16);
      V v_2_0 = load(8), v_2_1 = load(9), v_2_2 = load(10), v_2_3 = load(11);
      V v_3_0 = load(12), v_3_1 = load(13), v_3_2 = load(14), v_3_3 = load(15);
      TransposeInBlocks(d, v_2_0, v_2_1, v_2_2, v_2_3);
      TransposeInBlocks(d, v_3_0, v_3_1, v_3_2, v_3_3);
      const auto store_4 = [&](V a, V b, V c, V e, size_t i) HWY_ATTR {
        TransposeBlocks(d, a, b, c, e);
        store(a, i);
        store(b, i + 4);
        store(c, i + 8);
        store(e, i + 12);
      };
      store_4(v_0_0, v_1_0, v_2_0, v_3_0, 0);
      store_4(v_0_1, v_1_1, v_2_1, v_3_1, 1);
      store_4(v_0_2, v_1_2, v_2_2, v_3_2, 2);
      store_4(v_0_3, v_1_3, v_2_3, v_3_3, 3);
    }
  }
}

#endif

}  // namespace HWY_NAMESPACE
}  // namespace kiln::inline KILN_ABI
HWY_AFTER_NAMESPACE();
#endif
