#include "schedules/patterns/alternation.hpp"
#include "schedules/patterns/rules.hpp"
#include "schedules/registry.hpp"

namespace penstock::naive_file {
namespace {

/// One microbatch at a time: up through all stages, down again, then the next.
Schedule make(const Placement& placement, const ScheduleOptions& options) {
  return one_at_a_time(placement, options.microbatch_count,
                       [](Stage, Microbatch) { return false; });
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
