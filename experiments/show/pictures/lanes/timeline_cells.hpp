#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <variant>
#include <vector>

#include "sim/base/time.hpp"
#include "sim/plan/plan.hpp"
#include "sim/report/idle.hpp"
#include "sim/timeline/timeline.hpp"

namespace penstock {

/// The colour of an action depends on its pass and on its chunk of the rank.
struct ActionKind {
  Pass pass;
  std::uint32_t chunk;  // 0: first stage of the rank
  friend auto operator<=>(const ActionKind&, const ActionKind&) = default;
};

/// The colour of a cell depends on its kind.
using CellKind = std::variant<ActionKind, IdleCause>;

/// A box in the lane of a rank.
struct Cell {
  Time begin;
  Time end;
  CellKind kind;
  double top = 0;                        // upper edge, as a fraction of the lane height
  double bottom = 1;                     // lower edge
  std::optional<Microbatch> microbatch;  // none for idle time and for merged actions
  friend bool operator==(const Cell&, const Cell&) = default;
};

/// The cells of one rank, ordered by begin.
using Lane = std::vector<Cell>;

/// The largest number of stages on one rank.
std::uint32_t most_chunks(const Plan& plan);

/// The actions of each rank as cells. Spans without length are left out; the two parts of a fused
/// cell have half the height each. A timeline without spans gives empty lanes. Throws InputError
/// for a timeline of another plan.
std::vector<Lane> lanes(const Plan& plan, const Timeline& timeline);

/// The transfers that each rank sends for its weight gradients, as strips along the bottom of its
/// lane, because they overlap its actions. Strips of one rank may overlap.
std::vector<Lane> tail_strips(const Plan& plan, const Timeline& timeline);

/// The activations that leave each rank to be stored elsewhere or return to it, as strips along the
/// top of its lane. Moves over free links have no length.
std::vector<Lane> stash_moves(const Plan& plan, const Timeline& timeline);

/// The end of the last cell; 0 if there is none.
Time last_end(const std::vector<Lane>& lanes);

}  // namespace penstock
