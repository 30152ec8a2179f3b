// What the text of any generated kernel uses, compiled once per target: include it after
// hwy/foreach_target.h and outside of all namespaces. Headers of dot/ that it needs come after it.
#if defined(KILN_KILN_INL_H_) == defined(HWY_TARGET_TOGGLE)  // once per target
#ifdef KILN_KILN_INL_H_
#undef KILN_KILN_INL_H_
#else
#define KILN_KILN_INL_H_
#endif

#include "kiln/call/arguments.h"
#include "kiln/call/call.h"
#include "kiln/core/blocks.h"
#include "kiln/core/tile.h"
#include "kiln/direct/direct.h"
#include "kiln/emulate/dma.h"
#include "kiln/emulate/emulated.h"
#include "kiln/format/edges.h"
#include "kiln/format/joined.h"
#include "kiln/format/rows.h"
#include "kiln/grid/steps.h"
#include "kiln/kiln.h"
#include "kiln/math/math-inl.h"
#include "kiln/order/line-inl.h"
#include "kiln/simd/across-inl.h"
#include "kiln/simd/even_odd-inl.h"
#include "kiln/simd/index-inl.h"
#include "kiln/simd/lanes-inl.h"
#include "kiln/simd/locate-inl.h"
#include "kiln/simd/one-inl.h"
#include "kiln/simd/reduce-inl.h"
#include "kiln/simd/rows-inl.h"
#include "kiln/simd/squares-inl.h"
#include "kiln/simd/stream-inl.h"
#include "kiln/simd/target-inl.h"
#include "kiln/simd/values-inl.h"

#endif  // KILN_KILN_INL_H_
