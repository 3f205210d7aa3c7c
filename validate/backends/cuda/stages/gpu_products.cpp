#include "validate/backends/cuda/stages/gpu_products.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

#include "validate/backends/cuda/gpu_owners.hpp"

namespace penstock {
namespace {

constexpr std::size_t bf16_bytes = sizeof(std::uint16_t);

double number_of(std::uint16_t bits) {
  return static_cast<double>(std::bit_cast<float>(std::uint32_t{bits} << 16));
}

GpuOwner<GpuProductTag> product_of(const GpuCalls& calls, const GpuProductShape& shape) {
  const std::string why_not = calls.why_no_products();
  if (!why_not.empty()) throw GpuError("no matrix products: " + why_not);
  GpuProduct product = nullptr;
  check(calls, calls.make_product(&product, shape),
        "choosing a matrix product, its SMs:", shape.sms);
  return {product, calls.free_product};
}

GpuOwner<void> written_matrix(const GpuCalls& calls, const std::vector<std::uint16_t>& numbers) {
  auto memory = make_memory(calls, numbers.size() * bf16_bytes);
  check(calls, calls.write(memory.get(), numbers.data(), numbers.size() * bf16_bytes),
        "writing a matrix");
  return memory;
}

}  // namespace

std::vector<std::uint16_t> drawn_bf16(std::size_t count, std::uint64_t seed) {
  constexpr std::size_t period = 65'521;  // prime: neighbours of a matrix differ
  std::vector<std::uint16_t> numbers(count);
  std::uint64_t state = seed * 0x9E3779B97F4A7C15ULL + 1;
  for (std::size_t at = 0; at < std::min(count, period); ++at) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    const double drawn = static_cast<double>(state >> 11) * 0x1p-52 - 1;
    numbers[at] =
        static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(static_cast<float>(drawn)) >> 16);
  }
  for (std::size_t at = period; at < count; at += period) {
    std::copy_n(numbers.begin(), std::min(period, count - at),
                numbers.begin() + static_cast<std::ptrdiff_t>(at));
  }
  return numbers;
}

GpuMatrixProduct::GpuMatrixProduct(const GpuCalls& calls, const GpuProductShape& shape)
    : calls_(calls),
      shape_(shape),
      numbers_a_(drawn_bf16(std::size_t{shape.rows} * shape.inner, 1)),
      numbers_b_(drawn_bf16(std::size_t{shape.inner} * shape.columns, 2)),
      product_(product_of(calls, shape)),
      a_(written_matrix(calls, numbers_a_)),
      b_(written_matrix(calls, numbers_b_)),
      c_(make_memory(calls, std::size_t{shape.rows} * shape.columns * bf16_bytes)),
      workspace_(make_memory(calls, product_workspace)) {}

void GpuMatrixProduct::launch(GpuStream stream) const {
  check(calls_,
        calls_.launch_product(stream, product_.get(),
                              {a_.get(), b_.get(), c_.get(), workspace_.get()}),
        "launching a matrix product");
}

double GpuMatrixProduct::error() const {
  std::vector<std::uint16_t> results(std::size_t{shape_.rows} * shape_.columns);
  check(calls_, calls_.read(results.data(), c_.get(), results.size() * bf16_bytes),
        "reading a matrix");
  constexpr std::size_t samples = 257;  // prime: of all rows and columns
  double worst = 0;
  for (std::size_t sample = 0; sample < samples; ++sample) {
    const std::size_t at = (sample * (results.size() / samples + 1)) % results.size();
    double sum = 0;
    double magnitudes = 0;
    for (std::size_t k = 0; k < shape_.inner; ++k) {
      const double part = number_of(numbers_a_[at % shape_.rows + k * shape_.rows]) *
                          number_of(numbers_b_[k + at / shape_.rows * shape_.inner]);
      sum += part;
      magnitudes += std::abs(part);
    }
    const double off = std::abs(number_of(results[at]) - sum);
    const double share = magnitudes > 0 ? off / magnitudes : off;
    worst = std::isnan(share) ? HUGE_VAL : std::max(worst, share);
  }
  return worst;
}

}  // namespace penstock
