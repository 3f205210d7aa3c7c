#pragma once

#include <map>
#include <set>

#include "sim/plan/plan.hpp"

namespace penstock {

/// A stage and a microbatch or slice.
struct CellKey {
  Stage stage;
  Microbatch microbatch;
  friend auto operator<=>(const CellKey&, const CellKey&) = default;
};

/// The weight version that each microbatch uses on a rank, by the order of that rank; version v is
/// the result of v updates.
std::map<CellKey, std::uint32_t> versions_used(const Plan& plan, Rank rank, const WeightRule& rule);

/// The cells with recomputed activations.
std::set<CellKey> recomputed_cells(const Plan& plan);

/// Whether a plan has any B or I.
bool has_backward(const Plan& plan);

}  // namespace penstock
