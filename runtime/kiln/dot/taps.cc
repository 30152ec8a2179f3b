// Products over taps of f32 and f64, compiled once for each instruction set.
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

}  // namespace HWY_NAMESPACE
}  // namespace kiln::inline KILN_ABI
HWY_AFTER_NAMESPACE();
