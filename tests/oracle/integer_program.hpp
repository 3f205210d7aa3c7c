#pragma once

#include <optional>

#include "schedules/search/order_problem.hpp"

namespace penstock::testing {

/// The shortest makespan of a problem by an integer program that CBC solves; nothing if no order
/// fits. Written from the rules alone: a start for each pass, and for any two passes of a rank
/// which one is first. Microbatches come in any sequence unless `ascending`.
std::optional<SearchTime> shortest_by_integer_program(const OrderProblem& problem, bool ascending);

}  // namespace penstock::testing
