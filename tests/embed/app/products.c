#include <kiln/c.h>

/* What the header of a kernel declares for C++. */
int32_t kiln_product(const DLTensor* a, const DLTensor* b, const DLTensor* c, kiln_context* context, kiln_status* status);

static DLTensor Matrix(const float* data, int64_t* shape) {
  DLTensor tensor = {(void*)data, {kDLCPU, 0}, 2, {kDLFloat, 32, 1}, shape, 0, 0};
  return tensor;
}

int Multiply(const float* a, const float* b, float* c, int64_t m, int64_t k, int64_t n) {
  int64_t of_a[] = {m, k}, of_b[] = {k, n}, of_c[] = {m, n};
  const DLTensor left = Matrix(a, of_a), right = Matrix(b, of_b), to = Matrix(c, of_c);
  return kiln_product(&left, &right, &to, 0, 0);
}
