#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "sim/costs/costs.hpp"
#include "sim/plan/plan.hpp"
#include "sim/timeline/timeline.hpp"

namespace penstock {

/// A measured step taken apart, so that simulating the parts gives the step again.
struct MeasuredStep {
  // Microbatches have no classes of their own here, as they have in plans where they differ.
  std::shared_ptr<const Plan> plan;
  Time makespan{};
  // By task. The second part of a fused cell has no time of its own.
  std::vector<Time> begin;
  std::vector<Time> gap;       // from when its inputs and its rank or link were there to its begin
  std::vector<Time> duration;  // on its rank or link
  std::vector<Time> latency;   // of a transfer: from then until it arrives

  /// How long a task takes until its result is there.
  Time length(TaskId task) const { return duration[task] + latency[task]; }
};

/// `costs` are those of the timeline (`costs_of_times`). The plan must outlive the result.
MeasuredStep measured_step(const Plan& plan, const Costs& costs, const Timeline& timeline);

/// Where a rank stands in its job.
struct RankPlace {
  std::uint32_t pipeline = 0;  // ranks that pass tensors to each other: a data replica
  std::uint32_t position = 0;  // ranks with the same stages, in any replica
};

struct RankGroups {
  std::vector<RankPlace> ranks;
  std::uint32_t pipelines = 0;
  std::uint32_t positions = 0;
};

RankGroups rank_groups_of(const Plan& plan);

}  // namespace penstock
