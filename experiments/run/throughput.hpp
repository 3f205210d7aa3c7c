#pragma once

#include <optional>

#include "experiments/layout/layout.hpp"
#include "sim/base/time.hpp"
#include "sim/plan/plan.hpp"

namespace penstock {

/// How much a run gets done. What model or hardware leave unknown is absent.
struct Throughput {
  double samples_per_s = 0;
  std::optional<double> tokens_per_s;
  std::optional<double> tokens_per_s_per_device;
  std::optional<double> model_tflops_per_device;  // 1e12 FLOPs of the model a second
  // FLOPs over what all devices could do at the dense peak of their precision in the same time:
  // those of the model, and those that were run, the ones that made activations again included.
  std::optional<double> model_flops_utilization;
  std::optional<double> hardware_flops_utilization;
};

/// `peak_flops`: of one device. Replicas and the devices of a rank all do the same.
Throughput throughput_of(const Layout& layout, const Plan& plan, Time makespan,
                         std::optional<double> peak_flops);

}  // namespace penstock
