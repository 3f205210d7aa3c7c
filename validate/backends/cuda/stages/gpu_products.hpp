#pragma once

#include <map>
#include <tuple>
#include <vector>

#include "validate/backends/cuda/gpu_device.hpp"

namespace penstock {

/// Numbers drawn from `centre` - `spread` to `centre` + `spread`: products of zeros draw less power
/// and run faster.
void draw_numbers(Bf16* to, std::uint64_t count, std::uint64_t seed, double spread = 1,
                  double centre = 0);

/// Products on the SMs of a rank, by their shapes. Of one stream at a time.
class GpuProducts {
 public:
  /// Throws GpuError, also without the library.
  GpuProducts(const GpuCalls& calls, std::uint32_t sms);

  /// Chooses the algorithm at the first use of a shape. Throws GpuError.
  GpuProduct of(const LayerProduct<Bf16>& product);
  void launch(GpuStream stream, const LayerProduct<Bf16>& product);
  std::uint64_t algorithms() const;

 private:
  using Key = std::tuple<std::uint32_t, std::uint32_t, std::uint32_t, bool, bool, ProductResult,
                         std::uint32_t, std::uint64_t, std::uint64_t, std::uint64_t>;

  const GpuCalls& calls_;
  std::uint32_t sms_;
  GpuOwner<void> workspace_;
  std::map<Key, GpuOwner<GpuProductTag>> products_;
};

/// A product of one shape, with matrices of its own.
class GpuMatrixProduct {
 public:
  /// Chooses the algorithm. Throws GpuError, also without the library.
  GpuMatrixProduct(const GpuCalls& calls, const GpuProductShape& shape);

  /// Throws GpuError.
  void launch(GpuStream stream) { products_.launch(stream, product_); }
  std::uint64_t algorithm() const { return products_.algorithms(); }
  /// The largest error of some results against sums in double precision, as a share of the sum of
  /// magnitudes. Throws GpuError.
  double error() const;

 private:
  const GpuCalls& calls_;
  std::vector<Bf16> numbers_a_;
  std::vector<Bf16> numbers_b_;
  GpuProducts products_;
  GpuOwner<void> a_;
  GpuOwner<void> b_;
  GpuOwner<void> c_;
  LayerProduct<Bf16> product_;
};

/// Results in bf16 are off by half a unit of 2^-8, and sums in single precision by less.
constexpr double most_product_error = 0.00390625;

/// The product that actions repeat: a tenth of a millisecond or so on a quarter of an H200.
constexpr std::uint32_t action_product_size = 2048;

}  // namespace penstock
