#pragma once

#include <optional>
#include <string>
#include <vector>

#include "sim/plan/plan.hpp"
#include "validate/backends/cuda/gpu_executor.hpp"

namespace penstock {

/// Whether the copies that stand for links were as fast as these are to be.
class GpuRates {
 public:
  explicit GpuRates(std::uint32_t links) : asked_ns_(links), took_ns_(links) {}

  /// Counts the transfers of a run.
  void add(const GpuProgram& program, const GpuRun& run);
  /// The least share of its rate that a link reached, of all runs so far; 1 where nothing moved.
  double least() const;
  /// Names a link that is not what was asked for.
  std::optional<std::string> fault(const Plan& plan) const;

 private:
  std::vector<double> asked_ns_;  // by link
  std::vector<double> took_ns_;
};

}  // namespace penstock
