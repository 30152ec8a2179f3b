// The register tiles of f32 and f64, and of bf16 in pairs where that is an instruction.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kiln/dot/tiles_of_floats.cc"
#include "kiln/core/targets.h"
// Highway after its targets.
#include "hwy/foreach_target.h"
#include "kiln/dot/tile-inl.h"

KILN_BEFORE_NAMESPACE();
namespace kiln::inline KILN_ABI {
namespace HWY_NAMESPACE {

KILN_COMPILE_TILES(Dot<float>, PanelSteps);
KILN_COMPILE_TILES(Dot<float>, AnySteps);
KILN_COMPILE_TILES(Dot<double>, PanelSteps);
KILN_COMPILE_TILES(Dot<double>, AnySteps);
#if KILN_HAS_BF16_PAIRS
KILN_COMPILE_TILES(Dot<bf16>, PanelSteps);
KILN_COMPILE_TILES(Dot<bf16>, AnySteps);
#endif

}  // namespace HWY_NAMESPACE
}  // namespace kiln::inline KILN_ABI
HWY_AFTER_NAMESPACE();
