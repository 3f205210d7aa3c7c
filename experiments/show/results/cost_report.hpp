#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "experiments/input/files/table.hpp"
#include "experiments/run/training_cost.hpp"

namespace penstock {

/// "1.5e+13 tokens: 71.3 days, cost 8763421 (in the unit of --price), 2453 MWh (devices alone, at
/// full power)".
std::string cost_text(const TrainingCost& cost);

/// The heads of columns with days, cost and energy, as far as they are known.
TableRow cost_heads(const TrainingCost& cost);

/// Their cells, each with its difference from another: "71.3 (-2.4)". `other` may be null.
TableRow cost_cells(const TrainingCost& cost, const TrainingCost* other);

/// With the differences from another, which may be null: `days_more`, `cost_more`,
/// `energy_mwh_more`.
nlohmann::ordered_json cost_json(const TrainingCost& cost, const TrainingCost* other = nullptr);

}  // namespace penstock
