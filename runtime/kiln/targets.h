// Which instruction sets Kiln compiles for. Comes before the first header of Highway, as that is
// where they are chosen: AVX2, AVX3 and AVX3_DL on x86 (nothing older is worth its code), and on
// other machines whatever Highway finds.
#pragma once

#ifndef HWY_WANT_AVX3_DL
#define HWY_WANT_AVX3_DL 1
#endif
#ifndef HWY_DISABLED_TARGETS
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SSE4)
#endif
