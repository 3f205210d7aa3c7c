#pragma once

#include <optional>

#include "experiments/run/layout/layout.hpp"
#include "experiments/run/layout/spread.hpp"
#include "sim/base/time.hpp"
#include "sim/plan/plan.hpp"

namespace penstock {

/// Throughput of a run. Values that the model or hardware does not determine are empty.
struct Throughput {
  double samples_per_s = 0;
  std::optional<double> tokens_per_s;
  std::optional<double> tokens_per_s_per_device;
  std::optional<double> model_tflops_per_device;  // model FLOPs per second, in 1e12
  // MFU and HFU: FLOPs per second over the dense peak of all devices in their precision. MFU counts
  // the model's FLOPs; HFU also counts recomputation.
  std::optional<double> model_flops_utilization;
  std::optional<double> hardware_flops_utilization;
};

/// `peak_flops` is per device. All replicas and all devices of a rank do the same work.
Throughput throughput_of(const Layout& layout, const Plan& plan, Time makespan,
                         std::optional<double> peak_flops);

/// The share of runs whose step time is in its interval.
constexpr double interval_level = 0.9;

/// The interval of a step time, as factors of it.
struct StepInterval {
  double least = 1;
  double most = 1;
};

/// Of step times whose relative standard deviation is `spread`: they spread by a factor, so the
/// interval is one of logarithms.
StepInterval step_interval(double spread);
/// The same, and up to where short kernels may reach.
StepInterval step_interval(const RunSpread& spread);

}  // namespace penstock
