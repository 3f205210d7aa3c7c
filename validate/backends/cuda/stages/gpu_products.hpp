#pragma once

#include <vector>

#include "validate/backends/cuda/gpu_device.hpp"

namespace penstock {

/// bf16 numbers drawn between -1 and 1 by a seed: products of zeros draw less power and run faster.
std::vector<std::uint16_t> drawn_bf16(std::size_t count, std::uint64_t seed);

/// A matrix product on the SMs of a rank, with its matrices and its workspace.
class GpuMatrixProduct {
 public:
  /// Throws GpuError, also without the library.
  GpuMatrixProduct(const GpuCalls& calls, const GpuProductShape& shape);

  /// On one stream at a time. Throws GpuError.
  void launch(GpuStream stream) const;
  std::uint64_t algorithm() const { return calls_.product_algorithm(product_.get()); }
  /// The largest error of some results against sums in double precision, as a share of the sum of
  /// magnitudes. Throws GpuError.
  double error() const;

 private:
  const GpuCalls& calls_;
  GpuProductShape shape_;
  std::vector<std::uint16_t> numbers_a_;
  std::vector<std::uint16_t> numbers_b_;
  GpuOwner<GpuProductTag> product_;
  GpuOwner<void> a_;
  GpuOwner<void> b_;
  GpuOwner<void> c_;
  GpuOwner<void> workspace_;
};

/// Results in bf16 are off by half a unit of 2^-8, and sums in single precision by less.
constexpr double most_product_error = 0.00390625;

/// The product that actions repeat: a tenth of a millisecond or so on a quarter of an H200.
constexpr std::uint32_t action_product_size = 2048;

}  // namespace penstock
