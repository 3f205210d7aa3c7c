#pragma once

#include <vector>

#include "gui/models/run/viewed_run.hpp"
#include "gui/models/tracks/track.hpp"

namespace penstock {

/// When a transfer has left its link: its latency occupies nothing.
Time left_link_at(const ViewedRun& run, TaskId transfer);

/// When each link of a run's plan is occupied. Transfers of a recorded run may overlap; these stand
/// in tracks of their own. Empty where transfers occupy nothing.
std::vector<std::vector<Track>> link_lanes(const ViewedRun& run);

}  // namespace penstock
