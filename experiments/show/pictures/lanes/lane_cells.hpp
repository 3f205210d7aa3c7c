#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "experiments/show/pictures/palette.hpp"
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

/// The place of a work class among the stages of its rank or link, and how many these are.
struct ChunkPlace {
  std::uint32_t chunk, chunks;
};
/// By work class.
std::vector<ChunkPlace> chunks_of(const Plan& plan);
/// The largest number of stages on one rank.
std::uint32_t most_chunks(const Plan& plan);
/// What the shades of chunks mean, the first first: "chunks 0 to 3", "pieces" where stages are cut
/// at their exchanges, or where they have modules "vision, then the model".
std::string shades_text(const Plan& plan);

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

/// Inserts idle gaps, given in any order, between the cells of the lanes: one cell for each cause
/// of a gap, in chronological order. Throws InputError for a gap of a rank without a lane.
void add_idle(std::vector<Lane>& lanes, const std::vector<IdleGap>& gaps);

/// Merges closely consecutive cells shorter than `shortest` into bands. A band stacks its kinds
/// from the bottom up, each as high as its share of the area; the rest at the top is idle. Longer
/// cells, warm-up and drain, and gaps of at least `shortest`, stay unchanged. A band is at least
/// `least` times `shortest` long and covers whole periods of a repeating pattern where possible.
Lane merge_short(const Lane& lane, Time shortest, int least = 4);

/// A cell of full lane height in one colour.
struct MixedCell {
  Cell cell;
  Colour colour;
};

/// Merges stacked cells of a lane into one, their colours mixed in proportion to their heights;
/// free height counts as idle. Indistinguishable mixtures get the same colour.
std::vector<MixedCell> mixed_cells(const Lane& lane, std::uint32_t chunks);

}  // namespace penstock
