#pragma once

#include <cstdint>
#include <vector>

#include "experiments/show/pictures/colour.hpp"
#include "experiments/show/pictures/lanes/timeline_cells.hpp"

namespace penstock {

/// A cell of full lane height in one colour.
struct MixedCell {
  Cell cell;
  Colour colour;
};

/// Merges stacked cells of a lane into one, their colours mixed in proportion to their heights;
/// free height counts as idle. Indistinguishable mixtures get the same colour.
std::vector<MixedCell> mixed_cells(const Lane& lane, std::uint32_t chunks);

}  // namespace penstock
