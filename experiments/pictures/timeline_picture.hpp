#pragma once

#include <string>
#include <vector>

#include "experiments/pictures/picture.hpp"
#include "sim/plan/plan.hpp"
#include "sim/report/idle.hpp"
#include "sim/timeline/timeline.hpp"

namespace penstock {

/// What a picture shows beyond the actions.
struct TimelineExplanation {
  std::vector<IdleGap> gaps;          // in any order; none: idle time has no causes
  std::vector<TaskId> critical_path;  // first to last; none: it is not drawn
};

/// How to draw a timeline.
struct TimelinePicture {
  std::string title;     // what was run
  std::string subtitle;  // the result
  PictureOptions options = {};
  TimelineExplanation explanation = {};
};

/// A picture file of a run: a lane for each rank, from top to bottom, with a box for each action. A
/// box carries the number of its microbatch where that fits; boxes too narrow to be seen are merged
/// into bands. With an explanation, idle time has the colour of its cause, and the actions of the
/// critical path are outlined and joined by a line. Throws InputError when timeline or explanation
/// are of another plan, and UsageError when the picture is too small.
std::string draw_timeline(PictureFormat format, const Plan& plan, const Timeline& timeline,
                          const TimelinePicture& picture);

/// The size, at most 11.5, with which a number fits into a box when it is `width_at_1` wide in size
/// 1; 0 when it would be below 6 and not readable.
double number_size(double box_width, double box_height, double width_at_1);

}  // namespace penstock
