// All that the text of a generated kernel uses, compiled once per target: include it after
// hwy/foreach_target.h and outside of all namespaces.
#if defined(KILN_KILN_INL_H_) == defined(HWY_TARGET_TOGGLE)  // once per target
#ifdef KILN_KILN_INL_H_
#undef KILN_KILN_INL_H_
#else
#define KILN_KILN_INL_H_
#endif

#include "kiln/arguments.h"
#include "kiln/blocks.h"
#include "kiln/call.h"
#include "kiln/direct.h"
#include "kiln/dma.h"
#include "kiln/dot-inl.h"
#include "kiln/emulated.h"
#include "kiln/grid.h"
#include "kiln/kiln.h"
#include "kiln/lanes-inl.h"
#include "kiln/math-inl.h"
#include "kiln/panels-inl.h"
#include "kiln/reduce-inl.h"
#include "kiln/rows.h"
#include "kiln/stream-inl.h"
#include "kiln/target-inl.h"
#include "kiln/tile.h"
#include "kiln/values-inl.h"
// Uses the panels.
#include "kiln/one-inl.h"

#endif  // KILN_KILN_INL_H_
