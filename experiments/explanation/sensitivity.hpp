#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "experiments/run/run.hpp"

namespace penstock {

/// What a run would gain if one thing in it took 1 % less time.
struct Sensitivity {
  std::string what;          // "stage 2", "2F", "link 0>1", "network link spine"
  Time on_path{};            // how long the critical path runs it or waits for it
  Time predicted{};          // 1 % of that, as far as it can gain anything
  std::optional<Time> gain;  // with the costs changed; nothing where that run comes to a halt
};

/// The changes of which the critical path promises most, at most so many, largest first, and the
/// best link in any case. A change is a stage, one of its passes, the transfers between two ranks,
/// latency included, or the bandwidth of a physical link. Each is checked by simulating the run
/// with it, in the same order. Where nothing but its inputs and its resource holds a task back the
/// prediction is never too small: other paths may be as long, and then decide. What lies before
/// the last wait to be launched promises nothing, for the wait would only be longer.
std::vector<Sensitivity> sensitivities(const RunResult& result, std::size_t most);

}  // namespace penstock
