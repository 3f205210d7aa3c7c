#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "experiments/comparison/comparison.hpp"
#include "gui/models/run/viewed_run.hpp"

namespace penstock {

/// How two runs are aligned in time.
enum class PairAlignment : std::uint8_t {
  start,
  first_op,
  makespan,   // the second is scaled to the makespan of the first
  iteration,  // the second shows the iteration of the first's number, if both have several
};

/// Two runs on one time axis.
struct RunPair {
  ViewedRunPtr second;              // with its times on the axis of the first
  std::vector<double> differences;  // by task of the first run: of its end, -1 to 1; 0 without one
  Time largest{};                   // the difference that is 1
  std::optional<TaskId> first;      // the first op that differs
  std::string text;                 // as `penstock compare` reports
  std::vector<std::vector<double>> residuals;  // by stage, then microbatch: of durations, relative;
                                               // empty if no op is in both
};

/// Matches the common ops of two runs and aligns them. With an anchor, a task of the first run, the
/// second is moved so that this op begins at the same time in both. Throws InputError if only the
/// first run has it, if the second would begin before time 0, or if it has no such iteration.
RunPair pair_of(const ViewedRunPtr& first, const ViewedRunPtr& second, PairAlignment alignment,
                std::optional<TaskId> anchor = std::nullopt);

}  // namespace penstock
