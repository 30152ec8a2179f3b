// What Kiln would generate as matmul_f32.h; see sample_matmul.cc.
#pragma once

#include "kiln/kiln.h"

namespace kiln {

/// Blocked matmul with an f32 accumulator in VMEM and a fused bias and activation.
Status sample_matmul(const Tensor<const float>& x,     // f32[m, k]
                     const Tensor<const float>& y,     // f32[k, n]
                     const Tensor<const float>& bias,  // f32[n]
                     const Tensor<float>& z,           // f32[m, n]
                     Context& context = DefaultContext());

}  // namespace kiln

extern "C" int32_t kiln_sample_matmul(const DLTensor* x, const DLTensor* y, const DLTensor* bias,
                                      const DLTensor* z, kiln_context* context,
                                      kiln_status* status);
