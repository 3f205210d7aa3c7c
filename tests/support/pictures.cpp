#include "tests/support/pictures.hpp"

#include <algorithm>
#include <utility>
#include <variant>

#include "experiments/show/pictures/lanes/lane_cells.hpp"
#include "sim/engines/events.hpp"
#include "sim/report/report.hpp"

namespace penstock::testing {

DrawnRun drawn(const Schedule& schedule, const Placement& placement, double forward_us,
               double backward_us, Overlap overlap) {
  DrawnRun result{std::get<Plan>(lower(schedule, placement, overlap)), {}, {}};
  Costs& costs = result.costs;
  for (const WorkClass& work : result.plan.classes) {
    double us = work.pass == Pass::forward ? forward_us : backward_us;
    if (work.partner != UINT32_MAX) us = std::max(forward_us, backward_us);
    if (is_transfer(work.pass) || work.follows_partner) us = 0;
    costs.duration.push_back(from_us(us));
  }
  costs.latency.resize(costs.duration.size());
  result.timeline = relax({result.plan, costs});
  return result;
}

DrawnRun one_f_one_b(std::uint32_t ranks, std::uint32_t microbatches, double forward_us,
                     double backward_us) {
  Schedule schedule(ranks);
  for (Rank rank : Numbers<Rank>(ranks)) {
    auto& order = schedule.on(rank);
    const Stage stage{index(rank)};
    const std::uint32_t warmup = std::min(ranks - 1 - index(rank), microbatches);
    for (std::uint32_t m = 0; m < microbatches + warmup; ++m) {
      if (m < microbatches) order.push_back({Pass::forward, stage, Microbatch{m}});
      if (m >= warmup) order.push_back({Pass::backward, stage, Microbatch{m - warmup}});
    }
  }
  return drawn(schedule, Placement::loop(ranks, 1), forward_us, backward_us);
}

DrawnRun one_fused_cell(double forward_us, double backward_us) {
  Schedule schedule(1);
  schedule.on(Rank{0}) = {{Pass::forward, Stage{0}, Microbatch{0}},
                          {Pass::forward, Stage{0}, Microbatch{1}, true},
                          {Pass::backward, Stage{0}, Microbatch{0}},
                          {Pass::backward, Stage{0}, Microbatch{1}}};
  return drawn(schedule, Placement::loop(1, 1), forward_us, backward_us, Overlap::fused);
}

std::string timeline_picture(PictureFormat format, const DrawnRun& run,
                             const TimelinePicture& picture) {
  return draw_timeline(format, run.plan, run.timeline, picture);
}

std::vector<TaskId> path_of(const DrawnRun& run) {
  return tasks_of(critical_path(run.plan, run.costs, run.timeline));
}

TimelineExplanation explanation_of(const DrawnRun& run) {
  return {idle_gaps(run.plan, run.timeline), path_of(run)};
}

penstock::Cell cell(std::int64_t begin, std::int64_t end, CellKind kind, std::uint32_t microbatch) {
  return {{begin}, {end}, kind, 0, 1, Microbatch{microbatch}};
}

std::vector<std::string> texts(const std::vector<Tick>& ticks) {
  std::vector<std::string> all;
  all.reserve(ticks.size());
  for (const Tick& tick : ticks) all.push_back(tick.text);
  return all;
}

std::vector<std::string> texts_in(const std::string& svg) {
  std::vector<std::string> all;
  for (std::size_t at = svg.find("<text"); at != std::string::npos; at = svg.find("<text", at)) {
    const std::size_t begin = svg.find('>', at) + 1;
    at = svg.find('<', begin);
    all.push_back(svg.substr(begin, at - begin));
  }
  return all;
}

bool has_text(const std::string& svg, const std::string& text) {
  const std::vector<std::string> all = texts_in(svg);
  return std::find(all.begin(), all.end(), text) != all.end();
}

}  // namespace penstock::testing
