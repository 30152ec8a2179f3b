// Packing and the products of few rows that most kernels have, compiled once for each instruction
// set.
#define KILN_COMPILES_PACKING
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kiln/dot/packing.cc"
#include "kiln/core/targets.h"
// Highway after its targets.
#include "hwy/foreach_target.h"
#include "kiln/dot/panels-inl.h"
