#pragma once

#include <cstdint>
#include <vector>

#include "schedules/search/order_problem.hpp"

namespace penstock {

/// Starts for more microbatches than those of `few`: microbatch `at` is repeated, one period of the
/// busiest rank after the other, and those behind it follow later. By cell of a problem with
/// `microbatches`. Where the order of `few` has a steady state at `at`, the longer one continues
/// it.
std::vector<SearchTime> lengthened_starts(const OrderProblem& few,
                                          const std::vector<SearchTime>& starts,
                                          std::uint32_t microbatches, std::uint32_t at);

/// By rank: its passes in the order of given starts.
RankSequences sequences_of_starts(const OrderProblem& problem,
                                  const std::vector<SearchTime>& starts);

}  // namespace penstock
