#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "hardware_models/spec/machine.hpp"
#include "sim/base/parameters.hpp"
#include "sim/model/work.hpp"

namespace penstock {

/// A kernel by its sizes.
struct KernelQuestion {
  std::string kind = "product";  // one of `kernel_kinds`
  NamedNumbers sizes;
  std::string dtype = "bf16";
  std::string attention;        // the kernel that runs attention, one of the device's
  std::optional<double> watts;  // power cap of the device
  StackConstants shares;        // of the device's rates; the usual ones are all of them
};

/// What a kind of kernel takes.
struct KernelKindEntry {
  std::string_view name;
  std::string_view summary;
  std::span<const Parameter> sizes;
  /// The work with settled sizes, and `number_bytes` for each value before any is narrowed.
  Kernel (*kernel)(const NamedNumbers& sizes, double number_bytes);
};
std::span<const KernelKindEntry> kernel_kinds();

/// One run of a kernel on a device that nothing else uses. FLOPs are those that benchmarks count:
/// of attention, half of all under a causal mask, and backward 2.5 times those of forward.
struct KernelTiming {
  Kernel kernel;
  std::string precision;  // of the matrix units
  double us = 0;
  double peak_flops_per_s = 0;     // of dense products in `precision`
  std::vector<std::string> notes;  // where it is not computed in the precision asked for

  double flops_per_s() const { return kernel.flops / us * 1e6; }
  double bytes_per_s() const { return kernel.bytes / us * 1e6; }
};

/// The kernel as a device's file prices it, without a stack but for the question's shares. Throws
/// InputError, with a pointer into the question, for an unknown kind, attention kernel, size or
/// precision.
KernelTiming time_kernel(const Device& device, const KernelQuestion& question);

}  // namespace penstock
