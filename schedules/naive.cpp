#include "schedules/patterns/rules.hpp"
#include "schedules/registry.hpp"

namespace penstock::naive_file {
namespace {

/// One microbatch at a time: up through all stages, down again, then the next.
Schedule make(const Placement& placement, const ScheduleOptions& options) {
  Schedule schedule(placement.ranks());
  const std::uint32_t stages = placement.stage_count();
  for (Microbatch m : options.microbatches()) {
    for (Stage stage : placement.stages()) {
      schedule.on(placement.rank_of(stage, m)).emplace_back(Pass::forward, stage, m);
    }
    for (std::uint32_t behind = 1; behind <= stages; ++behind) {
      const Stage stage{stages - behind};
      schedule.on(placement.rank_of(stage, m)).emplace_back(Pass::backward, stage, m);
    }
  }
  return schedule;
}

/// One rank works at a time.
double bubble(std::uint32_t ranks, std::uint32_t /*chunks*/, std::uint32_t /*microbatches*/) {
  return (ranks - 1.0) / ranks;
}

}  // namespace

constinit extern const ScheduleEntry naive_entry{
    .name = "naive",
    .summary = "no pipelining: one microbatch at a time through all stages and back",
    .bubble = "m(p-1)(f+b)",
    .peak = "1",
    .place = one_stage_a_rank,
    .make = make,
    .bubble_of_makespan = bubble,
};

}  // namespace penstock::naive_file
