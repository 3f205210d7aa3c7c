#include <array>

#include "schedules/patterns/rules.hpp"
#include "schedules/registry.hpp"

namespace penstock::gpipe_file {
namespace {

constexpr std::array<std::string_view, 2> directions{"ascending", "descending"};
constexpr std::array<ScheduleOption, 1> gpipe_options{
    {{"backward_order", "ascending (PyTorch, Alpa; default) or descending (torchgpipe)",
      directions}}};

/// Every forward pass first, then every backward pass.
Schedule make(const Placement& placement, const ScheduleOptions& options) {
  require_one_stage_a_rank("gpipe", placement);
  const bool descending = options.choice("backward_order", directions) == "descending";
  Schedule schedule(placement.ranks());
  for (Stage stage : placement.stages()) {
    for (Microbatch m : options.microbatches()) {
      schedule.on(placement.rank_of(stage, m)).emplace_back(Pass::forward, stage, m);
    }
    for (Microbatch m : options.microbatches()) {
      const Microbatch next = descending ? Microbatch{options.microbatch_count - 1 - index(m)} : m;
      schedule.on(placement.rank_of(stage, next)).emplace_back(Pass::backward, stage, next);
    }
  }
  return schedule;
}

}  // namespace

constinit extern const ScheduleEntry gpipe_entry{
    .name = "gpipe",
    .summary = "all forwards, then all backwards",
    .bubble = "(p-1)(f+b)",
    .peak = "m",
    .options = gpipe_options,
    .place = one_stage_a_rank,
    .make = make,
    .bubble_of_makespan = fill_and_drain_bubble,
};

}  // namespace penstock::gpipe_file
