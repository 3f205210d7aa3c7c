#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "experiments/run/run.hpp"

namespace penstock {

/// Gain of a run if one part of it takes 1 % less time.
struct Sensitivity {
  std::string what;          // "stage 2", "2F", "link 0>1", "network link spine"
  Time on_path{};            // its time on the critical path, waits included
  Time predicted{};          // 1 % of the part of it that can gain
  std::optional<Time> gain;  // simulated; nothing if that run deadlocks
};

/// The changes with the largest gain predicted from the critical path, largest first: at most
/// `most`, and always the best link. A change shortens a stage, one of its passes, the transfers
/// between two ranks (latency included), or the bytes on a physical link. Each is checked by
/// simulating the changed run in the same order. If tasks wait only for inputs and their resource,
/// the prediction is an upper bound, since another path may become critical. Shortening anything
/// before the last wait for a launch gains nothing, since that wait grows.
std::vector<Sensitivity> sensitivities(const RunResult& result, std::size_t most);

}  // namespace penstock
