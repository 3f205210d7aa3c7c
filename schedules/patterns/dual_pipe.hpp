#pragma once

#include <cstdint>
#include <vector>

#include "sim/order/schedule.hpp"

namespace penstock {

/// One of the two stages of a rank: the legs of a V, or the two directions.
struct DualPipeSide {
  Stage stage;
  std::uint32_t first_microbatch;
};

/// The row of DualPipe and DualPipeV (one rule). `place` is the rank's distance from the edge,
/// `half` the number of ranks between edge and middle; both sides run `microbatches`. `in` starts
/// the row. The innermost rank does not overlap its first pair.
std::vector<Action> dual_pipe_row(std::uint32_t half, std::uint32_t place,
                                  std::uint32_t microbatches, DualPipeSide in, DualPipeSide back);

}  // namespace penstock
