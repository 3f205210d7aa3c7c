#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "experiments/input/scenario/scenario.hpp"
#include "experiments/run/run.hpp"
#include "sim/base/time.hpp"

namespace penstock {

/// A named order for the same stages, ranks and microbatches, as the engine runs it.
struct ComparedOrder {
  std::string name;
  Layout layout;
  Time makespan{};
  std::uint64_t peak_bytes = 0;  // of the fullest rank
  bool fits = false;             // in memory
};

/// The order that the scenario asks for, and every schedule rule without slices, a second copy of
/// the model or asynchronous weights that takes the same ranks, stages and microbatches. The
/// shortest that fit come first. `base` is the run of the scenario itself.
std::vector<ComparedOrder> named_orders(const Scenario& scenario, const RunResult& base);

/// A finished run in these terms.
ComparedOrder named_order(std::string name, const RunResult& result);

}  // namespace penstock
