#pragma once

#include <string>

#include "experiments/input/scenario/known_machine.hpp"
#include "experiments/run/layout/layout.hpp"
#include "sim/model/model_graph.hpp"

namespace penstock {

/// The costs of the layers that a scenario names by kind, kept for the next scenario with the same.
struct KnownModel {
  std::string key;  // what they follow from; empty: nothing is known
  ModelGraph model;
};

/// What a layout shares with the one settled before.
struct KnownParts {
  KnownModel model;
  KnownMachine machine;
};

/// As `settle`, with a catalogue that is the same in all calls. Takes from `known` the machine of
/// the catalogue and the costs of layers, where they follow from the same sections, and leaves its
/// own there.
Layout settle(const Scenario& scenario, const SettleOptions& options, KnownParts& known);

}  // namespace penstock
