#include "validate/kernels/gemm.hpp"

#include "validate/kernels/matrix.hpp"

namespace penstock {

void multiply(const Tensor& left, const Tensor& right, Tensor& product) {
  matrix(product).noalias() = matrix(left) * matrix(right);
}

}  // namespace penstock
