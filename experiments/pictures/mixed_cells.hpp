#pragma once

#include <cstdint>
#include <vector>

#include "experiments/pictures/colour.hpp"
#include "experiments/pictures/timeline_cells.hpp"

namespace penstock {

/// A cell over the whole height of a lane, in one colour.
struct MixedCell {
  Cell cell;
  Colour colour;
};

/// The cells of a lane in which those that lie on each other are one, their colours mixed by their
/// heights; what is free above them is idle. Mixtures that the eye cannot tell apart are one
/// colour.
std::vector<MixedCell> mixed_cells(const Lane& lane, std::uint32_t chunks);

}  // namespace penstock
