#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/plan/plan.hpp"
#include "validate/backends/cuda/running/gpu_executor.hpp"

namespace penstock {

/// Checks whether copies are as fast as the links they emulate.
class GpuRates {
 public:
  explicit GpuRates(std::uint32_t links) : asked_ns_(links), took_ns_(links) {}

  /// Adds the transfers of a run.
  void add(const GpuProgram& program, const GpuRun& run);
  /// The lowest share of its rate that any link reached in any run; 1 without transfers.
  double least() const;
  /// Names a link that was too slow.
  std::optional<std::string> fault(const Plan& plan) const;

 private:
  std::vector<double> asked_ns_;  // by link
  std::vector<double> took_ns_;
};

}  // namespace penstock
