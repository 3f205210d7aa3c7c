#pragma once

#include <string>

#include "experiments/show/pictures/lanes/timeline_picture.hpp"
#include "experiments/show/pictures/picture.hpp"
#include "sim/plan/plan.hpp"
#include "sim/timeline/timeline.hpp"

namespace penstock {

/// Draws the timeline of a run, with makespan and bubble below its title.
std::string draw_run(PictureFormat format, const Plan& plan, const Timeline& timeline,
                     const std::string& title, const PictureOptions& options = {},
                     const TimelineExplanation& explanation = {});

}  // namespace penstock
