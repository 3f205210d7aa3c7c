#pragma once

#include <map>
#include <set>

#include "sim/plan/plan.hpp"

namespace penstock {

/// A stage and a microbatch, or a slice of one.
struct CellKey {
  Stage stage;
  Microbatch microbatch;
  friend auto operator<=>(const CellKey&, const CellKey&) = default;
};

/// Which version of its stage's weights each microbatch uses on a rank, by the order of that rank;
/// version v is what v updates make.
std::map<CellKey, std::uint32_t> versions_used(const Plan& plan, Rank rank, const WeightRule& rule);

/// The cells whose activations are made again.
std::set<CellKey> remade_cells(const Plan& plan);

/// Whether a plan has any B or I.
bool has_backward(const Plan& plan);

}  // namespace penstock
