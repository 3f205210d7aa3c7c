#pragma once

#include <optional>
#include <string>

#include "experiments/run/layout/layout.hpp"
#include "sim/plan/plan.hpp"
#include "validate/job/job.hpp"

namespace penstock {

/// The layers that a run executes, or why it keeps cores busy instead.
struct RealLayers {
  std::optional<JobLayers> layers;
  std::string why_not;
};

/// Whether kernels can run a scenario's layers fast enough for many iterations. Throws InputError
/// for layers that do not fit together.
RealLayers real_layers(const Layout& layout, const Schedule& order, const Plan& plan);

}  // namespace penstock
