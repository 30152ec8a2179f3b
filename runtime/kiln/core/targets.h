// Which instruction sets Kiln compiles for. Comes before the first header of Highway, as that is
// where they are chosen: AVX2, AVX3 and AVX3_DL on x86 (nothing older is worth its code), and on
// other machines whatever Highway finds.
#pragma once

#ifndef HWY_WANT_AVX3_DL
#define HWY_WANT_AVX3_DL 1
#endif

// A kernel whose dots are of bf16, and not of bytes too, says so before it includes anything:
// KILN_MULTIPLIES_BF16. Intel's cores take two cycles for an instruction of AVX3_DL that multiplies
// pairs of bf16, and do two of floats in one: there it is nearly twice as fast on AVX3, where a
// bf16 becomes a float as it is packed. TargetIndex sees to that where a kernel is dispatched; a
// build for one machine says that it is one of those: KILN_PREFERS_F32.
#if defined(KILN_MULTIPLIES_BF16) && defined(KILN_PREFERS_F32)
#undef HWY_BASELINE_TARGETS
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SSE4 | HWY_AVX3_DL)
#endif
#ifndef HWY_DISABLED_TARGETS
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SSE4)
#endif
