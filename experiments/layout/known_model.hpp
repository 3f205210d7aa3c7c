#pragma once

#include <string>

#include "experiments/layout/layout.hpp"
#include "sim/model/model_graph.hpp"

namespace penstock {

/// The costs of the layers that a scenario names by kind, kept for the next scenario with the same.
struct KnownModel {
  std::string key;  // what they follow from; empty: nothing is known
  ModelGraph model;
};

/// As `settle`. Takes the costs of layers from `known` where they follow from the same sections,
/// and leaves its own there.
Layout settle(const Scenario& scenario, const SettleOptions& options, KnownModel& known);

}  // namespace penstock
