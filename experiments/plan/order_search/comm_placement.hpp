#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "experiments/plan/order_search/order_hunt.hpp"
#include "experiments/run/run.hpp"

namespace penstock {

/// An order whose RECVs and UNSHARDs were moved within its rows.
struct PlacedReceives {
  RunResult given;  // the scenario as it is
  RunResult best;
  std::string
      origin;  // "the given order", "every RECV 2 actions ahead", "…, then moved one by one"
  std::uint64_t evaluations = 0;
  bool interrupted = false;
};

/// Moves the RECVs of an order that is run as written, and the UNSHARDs where weights are sharded:
/// first all of a kind a number of actions ahead of their readers, then one by one from the best of
/// these, as long as the step becomes shorter or, in the same time, the fullest rank emptier. The
/// engine judges every order; one that deadlocks or exceeds the memory is none. Throws InputError
/// for a scenario whose communication is implicit.
PlacedReceives place_receives(const Scenario& scenario, const HuntOptions& options);

std::string placed_text(const PlacedReceives& placed);
nlohmann::ordered_json placed_json(const PlacedReceives& placed);

}  // namespace penstock
