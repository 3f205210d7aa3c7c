#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "experiments/show/pictures/picture.hpp"
#include "sim/order/schedule.hpp"
#include "sim/plan/plan.hpp"
#include "sim/report/idle.hpp"
#include "sim/timeline/timeline.hpp"

namespace penstock {

/// Optional explanations in a timeline picture.
struct TimelineExplanation {
  std::vector<IdleGap> gaps;          // any order; none: idle time has no causes
  std::vector<TaskId> critical_path;  // first to last; none: not drawn
};

/// How to draw a timeline.
struct TimelinePicture {
  std::string title;     // what was run
  std::string subtitle;  // the result
  PictureOptions options = {};
  TimelineExplanation explanation = {};
};

/// A picture file of a run: one lane per rank, from top to bottom, one box per action. A box shows
/// the number of its microbatch if it fits; boxes too narrow to see are merged into bands. With an
/// explanation, idle time has the colour of its cause, and the actions of the critical path are
/// outlined and connected by a line. Throws InputError if timeline or explanation belong to another
/// plan, and UsageError if the picture is too small.
std::string draw_timeline(PictureFormat format, const Plan& plan, const Timeline& timeline,
                          const TimelinePicture& picture);

/// The largest size, at most 11.5, at which a number fits into a box; `width_at_1` is its width at
/// size 1. Returns 0 if it would be unreadable, below 6.
double number_size(double box_width, double box_height, double width_at_1);

/// "forward", "input gradient": what legends call a pass.
std::string_view pass_name(Pass pass);
/// "transfer". Of a trace in which no pipeline is found, nothing is known but where ops end.
std::string_view cause_name(const Plan& plan, IdleCause cause);

}  // namespace penstock
