#pragma once

#include <cstdint>
#include <optional>

#include "experiments/run/layout/layout.hpp"
#include "experiments/run/throughput.hpp"

namespace penstock {

/// A training whose days and cost are asked.
struct WholeTraining {
  std::optional<double> tokens;  // examples of a model without tokens; empty: nothing is asked
  std::optional<double> price_per_device_hour;  // in any unit
};

/// What a whole training takes at the speed of one run.
struct TrainingCost {
  double tokens = 0;
  bool are_examples = false;  // the model has no tokens
  double days = 0;
  std::optional<double> cost;        // device-hours at the price, in its unit
  std::optional<double> energy_mwh;  // of the devices alone, at full power; empty: unknown
};

/// The power of a device of a layout; 0: unknown.
double watts_of(const Layout& layout);

/// Empty if nothing is asked, and for a run that takes no time. `watts` of each device; 0: unknown.
std::optional<TrainingCost> cost_of(const WholeTraining& training, const Throughput& throughput,
                                    std::uint64_t devices, double watts);

/// The same training on the same devices, in steps that take `ratio` times as long.
TrainingCost scaled(TrainingCost cost, double ratio);

}  // namespace penstock
