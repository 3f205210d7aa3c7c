#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "schedules/policies/choosing/stage_prices.hpp"

namespace penstock {

/// The passes F, I and W of each stage of a chain, one stage a rank, in the order in which its rank
/// runs them; microbatches ascend in each pass. A rank holds at most so many activations of its
/// own, of which I gives a part back. `prices` has the stages of the chain, first to last.
///
/// Several rows are tried, all greedy: F before I, and W only where the next of them lets itself be
/// waited for. They differ in how many microbatches a rank may have in flight, p-r, 2(p-r)-1 or
/// 2(p-r), and in which wait is long enough for a W: any, half of a W, or a whole one. The best is
/// that whose busiest rank is done soonest after it began; of equals that with the shorter
/// makespan, then that which holds less.
std::vector<std::vector<Pass>> zero_bubble_rows(std::span<const StagePrice> prices,
                                                std::uint32_t microbatches,
                                                std::uint32_t activations);

}  // namespace penstock
