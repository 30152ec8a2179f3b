// All that the text of dots may use, for headers that are precompiled.
#if defined(KILN_ALL_DOTS_INL_H_) == defined(HWY_TARGET_TOGGLE)  // once per target
#ifdef KILN_ALL_DOTS_INL_H_
#undef KILN_ALL_DOTS_INL_H_
#else
#define KILN_ALL_DOTS_INL_H_
#endif

#include "kiln/dot/matrices-inl.h"
#include "kiln/dot/panels-inl.h"
#include "kiln/dot/scaled-inl.h"
#include "kiln/dot/stacks-inl.h"
#include "kiln/dot/taps-inl.h"

#endif  // KILN_ALL_DOTS_INL_H_
