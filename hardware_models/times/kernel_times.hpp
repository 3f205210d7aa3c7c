#pragma once

#include <string>

#include "hardware_models/spec/machine.hpp"
#include "sim/model/work.hpp"

namespace penstock {

/// Times of single kernels on a device, as its stack runs them.
class KernelTimes {
 public:
  /// Throws InputError when the device has no peak for the precision.
  KernelTimes(const Device& device, const std::string& precision);

  /// Microseconds of one run.
  double us(const Kernel& kernel) const;

  /// Peak of dense matrix products per second, in the precision they run in.
  double peak_flops() const { return narrow_ ? narrow_flops_ : matrix_flops_; }

 private:
  double matrix_us(const Kernel& kernel) const;
  double attention_us(const Kernel& kernel) const;
  double vector_us(const Kernel& kernel) const;
  double bytes_us(double bytes) const;
  double cast_us(const Kernel& kernel) const;

  Device device_;
  bool narrow_ = false;      // products with weights run in fp8
  double matrix_flops_ = 0;  // of all other products
  double narrow_flops_ = 0;
  double vector_flops_ = 0;
};

}  // namespace penstock
