// What Kiln would generate as softmax.h; see sample_softmax.cc.
#pragma once

#include "kiln/kiln.h"

namespace kiln {

/// Softmax of rows, and the sums of their exponentials.
Status sample_softmax(const Tensor<const bf16>& x,  // bf16[m, n]
                      const Tensor<bf16>& z,        // bf16[m, n]
                      const Tensor<float>& s,       // f32[m]
                      Context& context = DefaultContext());

}  // namespace kiln

extern "C" int32_t kiln_sample_softmax(const DLTensor* x, const DLTensor* z, const DLTensor* s,
                                       kiln_context* context, kiln_status* status);
