#pragma once

#include <cstdint>
#include <vector>

#include "sim/order/schedule.hpp"

namespace penstock {

/// One of the two stages of a rank: on the way in and on the way back of a V, or of the two
/// directions.
struct DualPipeSide {
  Stage stage;
  std::uint32_t first_microbatch;
};

/// The row of DualPipe and DualPipeV, which are one rule: `place` is the rank's distance from the
/// edge and `half` the number of ranks between edge and middle, both sides run `microbatches`. `in`
/// starts the row. On the innermost rank the first pair is not overlapped.
std::vector<Action> dual_pipe_row(std::uint32_t half, std::uint32_t place,
                                  std::uint32_t microbatches, DualPipeSide in, DualPipeSide back);

}  // namespace penstock
