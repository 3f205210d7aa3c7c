#pragma once

#include <string>
#include <vector>

#include "experiments/layout/layout.hpp"
#include "experiments/scenario/scenario.hpp"

namespace penstock {

/// A scenario with one thing changed.
struct ChangedScenario {
  std::string change;  // as --set would have it: "/memory/zero=2"; several with spaces between
  Scenario scenario;
};

/// What may let a scenario hold less, or buy time for memory: levels of ZeRO, recomputation, what
/// the host keeps, codecs where it is known how long they take, chunks, and other schedules for the
/// same ranks, microbatches and use of weights. Whether a rule allows a change, only trying tells.
/// `most_held`: the most activations of a rank.
std::vector<ChangedScenario> memory_changes(const Scenario& scenario, const Layout& layout,
                                            std::uint32_t most_held);

}  // namespace penstock
