#pragma once

#include <cstdint>
#include <vector>

#include "sim/base/time.hpp"
#include "sim/plan/plan.hpp"
#include "sim/report/report.hpp"
#include "sim/timeline/timeline.hpp"
#include "sim/timeline/timeline_overview.hpp"

namespace penstock {

/// Makes an overview task by task, in plan order. Idle time is given by who knows its causes.
class OverviewMaker {
 public:
  explicit OverviewMaker(const Plan& plan);

  void add(std::uint32_t work, Time begin, Time end);
  void add_idle(std::uint32_t rank, Time begin, Time end, std::uint8_t cause);
  Time makespan() const { return makespan_; }
  TimelineOverview take();

 private:
  OverviewLaneMaker& lane_of(std::uint32_t rank, OverviewKind kind) {
    return lanes_[rank * std::size_t{4} + static_cast<std::size_t>(kind)];
  }

  const Plan& plan_;
  Time makespan_{};
  std::vector<RankFacts> facts_;
  std::vector<OverviewLaneMaker> lanes_;  // by rank, then kind
};

/// The overview of a run, with its idle time by cause.
TimelineOverview overview_of(const Plan& plan, const Timeline& timeline);

/// What an overview reports: makespan, bubble, and start, end, busy and idle time of each rank.
Report report_of(const TimelineOverview& overview);

}  // namespace penstock
