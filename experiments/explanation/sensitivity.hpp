#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "experiments/run/run.hpp"

namespace penstock {

/// What a run gains if one thing in it takes 1 % less time.
struct Sensitivity {
  std::string what;          // "stage 2", "2F", "link 0>1", "network link spine"
  Time on_path{};            // its time on the critical path, waiting included
  Time predicted{};          // 1 % of what of that can gain anything
  std::optional<Time> gain;  // simulated; nothing where that run deadlocks
};

/// The changes with the largest gain predicted by the critical path: at most `most` of them,
/// largest first, and the best link in any case. A change shortens a stage, one of its passes, the
/// transfers between two ranks (latency included), or the bytes on a physical link. Each is checked
/// by simulating the run with it, in the same order. Where tasks wait only for inputs and their
/// resource, the prediction is an upper bound: another path may become critical. What lies before
/// the last wait for a launch gains nothing, since that wait would grow.
std::vector<Sensitivity> sensitivities(const RunResult& result, std::size_t most);

}  // namespace penstock
