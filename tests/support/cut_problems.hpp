#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "schedules/partitioners/problem/cut_problem.hpp"

namespace penstock::testing {

/// A small random model inside a RapidCheck property: whole milliseconds and bytes, so that sums
/// are exact. Each layer reads one or two of those before it.
CutProblem any_problem(std::uint32_t most_layers);

/// The same as a chain.
CutProblem any_chain(std::uint32_t most_layers);

/// Calls `visit(cuts)` for all cuts of `size` layers into at least `fewest` and at most `most`
/// stages.
void for_each_cut(std::uint32_t size, std::uint32_t fewest, std::uint32_t most,
                  const std::function<void(const std::vector<std::uint32_t>&)>& visit);

/// The least value of all cuts.
double least_of_cuts(std::uint32_t size, std::uint32_t fewest, std::uint32_t most,
                     const std::function<double(const std::vector<std::uint32_t>&)>& value);

}  // namespace penstock::testing
