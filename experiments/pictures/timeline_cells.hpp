#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <variant>
#include <vector>

#include "sim/base/time.hpp"
#include "sim/plan/plan.hpp"
#include "sim/report/idle_cause.hpp"
#include "sim/timeline/timeline.hpp"

namespace penstock {

/// What gives an action its colour: the pass, and which of its rank's stages it belongs to.
struct ActionKind {
  Pass pass;
  std::uint32_t chunk;  // 0 for the first stage of the rank
  friend auto operator<=>(const ActionKind&, const ActionKind&) = default;
};

/// What gives a cell its colour.
using CellKind = std::variant<ActionKind, IdleCause>;

/// A box in the lane of a rank.
struct Cell {
  Time begin;
  Time end;
  CellKind kind;
  double top = 0;                        // where it starts in the height of the lane, 0 to 1
  double bottom = 1;                     // where it ends
  std::optional<Microbatch> microbatch;  // none for idle time and for several actions
  friend bool operator==(const Cell&, const Cell&) = default;
};

/// The cells of one rank in the order they begin.
using Lane = std::vector<Cell>;

/// How many stages the rank that holds most of them runs.
std::uint32_t most_chunks(const Plan& plan);

/// For each rank what it did. Spans without length are left out; the two parts of a fused cell take
/// half the height each. A timeline without spans gives empty lanes; throws InputError for one of
/// another plan.
std::vector<Lane> lanes(const Plan& plan, const Timeline& timeline);

/// For each rank the transfers that it sends when a stage has its weight gradients, as strips along
/// the bottom of its lane: they run beside its actions. Those of one rank may overlap.
std::vector<Lane> tail_strips(const Plan& plan, const Timeline& timeline);

/// For each rank the activations that leave it to be kept elsewhere, and that return to it, as
/// strips along the top of its lane. Those over free links have no length.
std::vector<Lane> stash_moves(const Plan& plan, const Timeline& timeline);

/// The end of the last cell; zero when there is none.
Time last_end(const std::vector<Lane>& lanes);

}  // namespace penstock
