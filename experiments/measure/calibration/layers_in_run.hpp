#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "experiments/input/scenario/scenario.hpp"
#include "experiments/run/layout/layout.hpp"
#include "sim/plan/plan.hpp"
#include "validate/backends/registry.hpp"
#include "validate/calibration/kernel_sweep.hpp"
#include "validate/job/job.hpp"
#include "validate/job/trained_numbers.hpp"
#include "validate/store/stored_row.hpp"

namespace penstock {

/// Passes of a scenario's layers, measured inside the actions of a run of 1F1B.
struct LayersInRun {
  std::vector<SweptPoint> points;  // a sample is the mean of one or more iterations
  std::uint32_t iterations = 0;    // after warm-up
  std::string why_not;             // empty: they were measured
};

/// Samples of a pass from its time in each iteration. An iteration is a sample if it covers enough
/// work, and if iterations agree; otherwise several are put together. So neither a short
/// interruption nor the noise of single iterations makes up much of a sample, and samples still
/// differ where the machine changes during the run.
std::vector<double> samples_in_run(const std::vector<LayerSpent>& iterations);

/// Runs a scenario's model under 1F1B for about `seconds`, or longer while layers vary. All ranks
/// run at once, with the caches and the memory of a run, so that layers take as long as in other
/// schedules.
LayersInRun layers_in_run(const Scenario& scenario, const BackendEntry& backend, double seconds);

/// The passes of a scenario's layers as they run in a cell, each once. Hardware "measured" needs
/// rows of them to price the scenario. Throws UsageError for layers with given times, layers shared
/// by several devices, and layers that no kernel here runs.
std::vector<KernelPoint> layer_points(const Scenario& scenario);

/// The layers that a run executes, or why it keeps cores busy instead.
struct RealLayers {
  std::optional<JobLayers> layers;
  std::string why_not;
};

/// Why kernels run no layers of a model like this, whatever their sizes.
std::optional<std::string> why_not_model(const Layout& layout);

/// Whether kernels can run a scenario's layers fast enough for many iterations. Throws InputError
/// for layers that do not fit together.
RealLayers real_layers(const Layout& layout, const Schedule& order, const Plan& plan);

}  // namespace penstock
