// Products over taps of floats and bytes, compiled once for each instruction set.
#define KILN_COMPILES_TAPS
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kiln/dot/taps.cc"
#include "kiln/core/targets.h"
// Highway after its targets.
#include "hwy/foreach_target.h"
#include "kiln/dot/tap_tile-inl.h"

KILN_BEFORE_NAMESPACE();
namespace kiln::inline KILN_ABI {
namespace HWY_NAMESPACE {

template void MultiplyTapTile<Dot<float>>(const TapTile<Dot<float>>&, size_t, size_t);
template void MultiplyTapTile<Dot<double>>(const TapTile<Dot<double>>&, size_t, size_t);
#if KILN_HAS_BF16_PAIRS
template void MultiplyTapTile<Dot<bf16>>(const TapTile<Dot<bf16>>&, size_t, size_t);
#endif
using Bytes = Dot<int8_t>::Arithmetic;
template void MultiplyTapTile<Bytes>(const TapTile<Bytes>&, size_t, size_t);

}  // namespace HWY_NAMESPACE
}  // namespace kiln::inline KILN_ABI
HWY_AFTER_NAMESPACE();
