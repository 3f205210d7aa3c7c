#include "hardware_models/times/kernel_times.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "hardware_models/times/tiling.hpp"
#include "sim/base/error.hpp"
#include "sim/base/portable_math.hpp"

namespace penstock {
namespace {

double matrix_peak(const Device& device, const std::string& precision) {
  if (const auto found = runs_in(device, precision)) return device.peak_flops.find(*found)->second;
  throw InputError("/hardware", fmt::format("{} has no peak for {} or a wider precision; "
                                            "add one to /peak_flops in its file",
                                            device.name, precision));
}

/// The peak of vector units, when a device has one.
double vector_peak(const Device& device, double otherwise) {
  const auto found = device.peak_flops.find("fp32");
  return found == device.peak_flops.end() ? otherwise : found->second;
}

/// The filled share of the tiles of a matrix product.
double filled_tiles(const Kernel& kernel, double tile) {
  const auto filled = [&](double size) { return size / (std::ceil(size / tile) * tile); };
  return filled(kernel.rows) * filled(kernel.columns);
}

/// Matrix units load 16 bytes at a time: eight 2-byte values.
bool is_aligned(const Kernel& kernel) {
  constexpr double together = 8;
  return std::fmod(kernel.rows, together) == 0 && std::fmod(kernel.columns, together) == 0 &&
         std::fmod(kernel.inner, together) == 0;
}

/// FLOPs that a device spends on a product of known sizes.
double flops_spent(const Device& device, const Kernel& kernel) {
  if (kernel.rows <= 0 || kernel.columns <= 0) return kernel.flops;
  if (device.multiprocessors > 0) return flops_in_waves(device, kernel);
  return kernel.flops / filled_tiles(kernel, device.tile);
}

/// The speed of the stack's attention kernel at the nearest size of a head; nullptr: not measured.
const AttentionSpeed* speed_of(const Device& device, const Kernel& kernel) {
  const AttentionSpeed* nearest = nullptr;
  const auto distance = [&](const AttentionSpeed& speed) {
    return std::abs(portable_log(speed.head_size / kernel.inner));
  };
  for (const AttentionSpeed& speed : device.attention) {
    if (speed.kernel != device.stack.attention) continue;
    if (speed.backward != (kernel.pass != Pass::forward)) continue;
    if (nearest == nullptr || distance(speed) < distance(*nearest)) nearest = &speed;
  }
  return nearest;
}

}  // namespace

KernelTimes::KernelTimes(const Device& device, const std::string& precision)
    : device_(device),
      narrow_(precision == "fp8" && device.peak_flops.contains("fp8")),
      matrix_flops_(matrix_peak(device, precision == "fp8" ? "bf16" : precision)),
      narrow_flops_(narrow_ ? device.peak_flops.find("fp8")->second : 0),
      vector_flops_(vector_peak(device, matrix_flops_)) {}

double KernelTimes::us(const Kernel& kernel) const {
  switch (kernel.kind) {
    case KernelKind::matrix:
      return matrix_us(kernel);
    case KernelKind::attention:
      return attention_us(kernel);
    default:
      return vector_us(kernel);
  }
}

double KernelTimes::bytes_us(double bytes) const {
  return bytes * 1e6 /
         (device_.memory_bandwidth_bytes_per_s *
          efficiency_at(device_.memory_efficiency, bytes * 1e-6));
}

double KernelTimes::matrix_us(const Kernel& kernel) const {
  const StackConstants& stack = device_.stack;
  const bool narrow = narrow_ && kernel.narrows;
  Efficiency efficiency = device_.matrix_efficiency;
  if (narrow && !device_.fp8_efficiency.empty()) efficiency.table = device_.fp8_efficiency;
  const double rate = (narrow ? narrow_flops_ : matrix_flops_) * device_.power_share *
                      (narrow ? stack.fp8_share : stack.matrix_share) *
                      efficiency_at(efficiency, kernel.flops * 1e-9) *
                      (is_aligned(kernel) ? 1 : device_.unaligned_efficiency);
  const double work_us =
      std::max(flops_spent(device_, kernel) * 1e6 / rate, bytes_us(kernel.bytes));
  return work_us + device_.kernel_us + (narrow ? cast_us(kernel) : 0);
}

/// Each factor is read and written in one byte per number; what made it finds its largest value.
double KernelTimes::cast_us(const Kernel& kernel) const {
  constexpr double bytes = 2 + 1;
  const double numbers = kernel.batch * kernel.inner * (kernel.rows + kernel.columns);
  return bytes_us(bytes * numbers);
}

double KernelTimes::attention_us(const Kernel& kernel) const {
  const AttentionSpeed* speed = speed_of(device_, kernel);
  const double computed = device_.stack.computes_masked ? kernel.masked : 1;
  Kernel priced = kernel;
  priced.flops *= computed;
  priced.columns *= computed;
  if (speed == nullptr) return matrix_us(priced);
  const double rate = matrix_flops_ * device_.power_share * device_.stack.attention_share *
                      efficiency_at({speed->by_keys}, priced.columns);
  return std::max(priced.flops * 1e6 / rate, bytes_us(priced.bytes)) + device_.kernel_us;
}

double KernelTimes::vector_us(const Kernel& kernel) const {
  const double passes = kernel.fused ? 1 : device_.stack.vector_passes;
  return std::max(kernel.flops * 1e6 / vector_flops_, passes * bytes_us(kernel.bytes)) +
         device_.kernel_us;
}

}  // namespace penstock
