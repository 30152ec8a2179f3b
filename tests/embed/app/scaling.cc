#include "scaled.h"

extern "C" __attribute__((visibility("default"))) int Scale(const float* x, float* y, int64_t n,
                                                            int emulated) {
  kiln::Options options;
  options.mode = emulated ? kiln::Mode::kEmulated : kiln::Mode::kDirect;
  options.cores = 2;
  kiln::Context context(options);
  return kiln::scaled({x, {n}}, {y, {n}}, context).code;
}
