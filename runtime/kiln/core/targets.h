// Which instruction sets Kiln compiles for. Comes before the first header of Highway, as that is
// where they are chosen: AVX2, AVX3 and AVX3_DL on x86, and on other machines whatever Highway
// finds. Nothing older than AVX2 is worth its code. Newer names, of which each Highway since 1.0.4
// has more (AVX3_ZEN4, AVX3_SPR, AVX10_2), add nothing that these kernels use to AVX3_DL and what
// target-inl.h asks for besides, and so the runtime may know the three by name.
#pragma once

// A bf16 is the upper half of a float, of two elements in a byte the first is the lower half, and
// so on: nobody has gone through all of that for the other order.
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "Kiln is for little-endian machines"
#endif

// Highway 1.3 of Debian's chooses on riscv64 at run time, which does not compile by clang 19: its
// intrinsics of short vectors are there only if it may assume vectors. Without them it is SCALAR.
#if defined(__riscv) && !defined(__riscv_vector) && defined(__clang__) && __clang_major__ < 20 && \
    !defined(HWY_HAVE_RUNTIME_DISPATCH_RVV)
#define HWY_HAVE_RUNTIME_DISPATCH_RVV 0
#endif

#ifndef HWY_WANT_AVX3_DL
#define HWY_WANT_AVX3_DL 1
#endif

#if defined(__x86_64__) || defined(_M_X64)
#define KILN_OTHER_TARGETS (HWY_SSSE3 | HWY_SSE4 | kiln_sse2_target | kiln_newer_targets)
#define kiln_sse2_target (1LL << 14)          // HWY_SSE2, which Highway 1.0.3 does not know
#define kiln_newer_targets (HWY_AVX3_DL - 1)  // better ones have lower bits
#elif defined(__aarch64__)
// SVE and SVE2 for one length of vectors only. Highway 1.0.3 has half as many lanes there as it
// should once a vector's lanes become narrower (Rebind keeps the bound on lanes and halves it).
#define KILN_OTHER_TARGETS (HWY_SVE_256 | HWY_SVE2_128 | kiln_sve2_target)
// SVE2 is here what has dots of bf16 besides, as all CPUs with it have so far. Where nothing is
// chosen at run time, and the compiler may assume the one and not the other, it is SVE.
#if defined(__ARM_FEATURE_SVE2) && !defined(__ARM_FEATURE_SVE_BF16)
#define kiln_sve2_target HWY_SVE2
#else
#define kiln_sve2_target 0
#endif
#else
#define KILN_OTHER_TARGETS 0
#endif

// A build for some of them says which it leaves out.
#ifndef KILN_DISABLED_TARGETS
#define KILN_DISABLED_TARGETS 0
#endif

// A kernel whose dots are of bf16, and not of bytes too, says so before it includes anything:
// KILN_MULTIPLIES_BF16. Intel's cores take two cycles for an instruction of AVX3_DL that multiplies
// pairs of bf16, and do two of floats in one: there it is nearly twice as fast on AVX3, where a
// bf16 becomes a float as it is packed. (Those with AMX stay on AVX3_DL, which has its tiles.)
// TargetIndex sees to that where a kernel is dispatched; a build for one machine says that it is
// one of those: KILN_PREFERS_F32.
#if defined(KILN_MULTIPLIES_BF16) && defined(KILN_PREFERS_F32)
#undef HWY_BASELINE_TARGETS
#undef KILN_DISABLED_TARGETS
#define KILN_DISABLED_TARGETS HWY_AVX3_DL
#endif
#ifndef HWY_DISABLED_TARGETS
#define HWY_DISABLED_TARGETS (KILN_OTHER_TARGETS | KILN_DISABLED_TARGETS)
#endif

// For CPUs that have none of these Highway has SCALAR or EMU128, whichever the compiler is known to
// get right. Here it is SCALAR by any: a kernel may be compiled by another compiler than the
// runtime.
#if !defined(HWY_BROKEN_EMU128) && !defined(HWY_COMPILE_ONLY_EMU128)
#define HWY_BROKEN_EMU128 1
#endif
