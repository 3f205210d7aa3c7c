#pragma once

#include <cstdint>
#include <vector>

#include "schedules/search/order_problem.hpp"

namespace penstock {

/// The passes of one microbatch through a V of two chunks per rank, as slots of a period of six: F
/// of the first chunk and I of the second go from rank to rank in `hop` slots up to `turn_rank` and
/// in `late_hop` from there, the way back takes one slot a rank, and the two turns and the start of
/// the backward wait. Repeated every period, no two passes of a rank meet.
struct BuildingBlock {
  std::uint32_t hop = 1, late_hop = 1;
  std::uint32_t turn_rank = 0;
  std::uint32_t first_wait = 0, middle_wait = 0, last_wait = 0;
  double fullness = 0;  // memory of the repetition, as a share of the capacity, mean of all ranks
};

/// The building blocks whose repetition fits the memory, the fullest first; none where the stages
/// are not a V of two chunks with split backwards.
std::vector<BuildingBlock> building_blocks(const OrderProblem& problem);

/// The repeated block: by rank, its passes in order.
RankSequences sequences_of_block(const OrderProblem& problem, const BuildingBlock& block);

}  // namespace penstock
