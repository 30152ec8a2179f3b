// The register tiles of i32, and of bytes, which add up in it.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kiln/dot/tiles_of_integers.cc"
#include "kiln/core/targets.h"
// Highway after its targets.
#include "hwy/foreach_target.h"
#include "kiln/dot/tile-inl.h"

KILN_BEFORE_NAMESPACE();
namespace kiln::inline KILN_ABI {
namespace HWY_NAMESPACE {

KILN_COMPILE_TILES(Dot<int32_t>, PanelSteps);
KILN_COMPILE_TILES(Dot<int32_t>, AnySteps);
#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3
using AnyBytes = Dot<int8_t, int8_t>::Arithmetic;
KILN_COMPILE_TILES(AnyBytes, PanelSteps);
#else
using SignedBytes = Dot<int8_t, int8_t>::Arithmetic;
using UnsignedBytes = Dot<uint8_t, uint8_t>::Arithmetic;
using SignedTimesUnsigned = Dot<int8_t, uint8_t>::Arithmetic;
using UnsignedTimesSigned = Dot<uint8_t, int8_t>::Arithmetic;
KILN_COMPILE_TILES(SignedBytes, PanelSteps);
KILN_COMPILE_TILES(UnsignedBytes, PanelSteps);
KILN_COMPILE_TILES(SignedTimesUnsigned, PanelSteps);
KILN_COMPILE_TILES(UnsignedTimesSigned, PanelSteps);
#if HWY_TARGET != HWY_AVX3_DL  // where an A of bytes is not read unpacked
KILN_COMPILE_TILES(SignedBytes, AnySteps);
KILN_COMPILE_TILES(UnsignedBytes, AnySteps);
#endif
#endif

}  // namespace HWY_NAMESPACE
}  // namespace kiln::inline KILN_ABI
HWY_AFTER_NAMESPACE();
