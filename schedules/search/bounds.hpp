#pragma once

#include "schedules/search/order_problem.hpp"

namespace penstock {

/// A makespan that no order of the problem is below: the longest of
/// - the path of one microbatch,
/// - for each rank, its work after the first input can arrive. Before its first I it runs at most
///   the F's that fit its memory, and after its last I at most the W's that fit, while the gradient
///   still has to reach the first stage,
/// - for each rank, the memory-time that its activations need over its capacity.
/// Each ends with the updates of its last rank.
SearchTime shortest_possible(const OrderProblem& problem);

/// By cell class: the least time from the end of that pass of a microbatch until everything that
/// depends on it has ended.
std::vector<SearchTime> shortest_tails(const OrderProblem& problem);

}  // namespace penstock
