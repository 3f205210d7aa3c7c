#pragma once

#include <vector>

#include "gui/models/run/viewed_run.hpp"

namespace penstock {

/// By how much each task could end later without a longer run, as a share of the makespan: the
/// shortest sum of waits on a way from its end to that of the run. 0 on the critical path.
/// Transfers that share links, or get in line as they come, slow each other down: these may move
/// only as far as they do not meet. Their slack is a bound that holds, not the most that is possible;
/// the parts of a fused cell have one and the same.
/// In a recorded run an op may also begin late for a reason that nobody knows: by that much at
/// least.
std::vector<float> slack_of(const ViewedRun& run);
/// Whether that is known: of a part of a run, or lanes without a pipeline, it is not; nor where
/// ranks affect each other by more than transfers, or a policy decides the order.
bool has_slack(const ViewedRun& run);
/// Whether there is no more slack than that.
bool knows_all_slack(const ViewedRun& run);

}  // namespace penstock
