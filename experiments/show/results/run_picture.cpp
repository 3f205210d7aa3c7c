#include "experiments/show/results/run_picture.hpp"

#include <fmt/format.h>

#include "experiments/input/files/table.hpp"
#include "sim/report/idle.hpp"

namespace penstock {

std::string draw_run(PictureFormat format, const Plan& plan, const Timeline& timeline,
                     const std::string& title, const PictureOptions& options,
                     const TimelineExplanation& explanation) {
  const Time end = makespan(plan, timeline);
  IdleCauses idle;
  for (const IdleCauses& of_rank : idle_causes(plan, timeline)) idle += of_rank;
  const double all = to_us(end) * plan.ranks;
  const TimeUnit unit = unit_for(end);
  return draw_timeline(
      format, plan, timeline,
      {.title = title,
       .subtitle = fmt::format("step time {} {}, bubble {}", time_text(end, unit), unit.name,
                               percent_text(all == 0 ? 0 : to_us(idle.total()) / all)),
       .options = options,
       .explanation = explanation});
}

}  // namespace penstock
