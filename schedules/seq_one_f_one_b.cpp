#include <fmt/format.h>

#include <array>

#include "schedules/patterns/alternation.hpp"
#include "schedules/patterns/rules.hpp"
#include "schedules/registry.hpp"
#include "sim/base/error.hpp"
#include "sim/base/limits.hpp"

namespace penstock::seq_one_f_one_b_file {
namespace {

constexpr std::array<ScheduleOption, 1> takes{
    {{"slices", "consecutive slices of a sequence, default 2"}}};

std::uint32_t slices_for(const ScheduleOptions& options) { return options.number("slices", 2); }

/// 1f1b over slices of sequences. A slice attends to earlier slices, so forwards run the slices of
/// a microbatch in order and backwards in reverse; the warm-up is longer by slices-1. The
/// microbatch of an action is microbatch * slices + slice.
Schedule make(const Placement& placement, const ScheduleOptions& options) {
  require_one_stage_a_rank("seq-1f1b", placement);
  require_no_replicas("seq-1f1b", placement);
  const std::uint32_t slices = slices_for(options);
  if (std::uint64_t{slices} * options.microbatch_count > Limits::microbatches) {
    throw RuleError(fmt::format("{} slices of {} microbatches are too many: at most {} in total",
                                slices, options.microbatch_count, Limits::microbatches));
  }
  const std::uint32_t all = slices * options.microbatch_count;
  Schedule schedule(placement.ranks());
  for (Stage stage : placement.stages()) {
    const std::uint32_t behind = placement.stage_count() - 1 - placement.position(stage);
    auto& row = schedule.on(placement.rank_of(stage));
    row = alternating_row({.stage = stage, .warm_up = behind + slices - 1, .microbatches = all});
    for (Action& action : row) {
      if (action.pass == Pass::forward) continue;
      const std::uint32_t slice = index(action.microbatch) % slices;
      action.microbatch = Microbatch{index(action.microbatch) + slices - 1 - 2 * slice};
    }
  }
  return schedule;
}

/// For two slices, the default.
double bubble(std::uint32_t ranks, std::uint32_t /*chunks*/, std::uint32_t microbatches) {
  return share_idle(ranks - 1.0, 2.0 * microbatches);
}

}  // namespace

constinit extern const ScheduleEntry seq_one_f_one_b_entry{
    .name = "seq-1f1b",
    .summary = "1f1b over slices of sequences: a smaller bubble with few microbatches",
    .bubble = "(p-1)(f+b) of one slice",
    .peak = "min(mk, p-1-r+k)",
    .slices_for = slices_for,
    .options = takes,
    .place = one_stage_a_rank,
    .make = make,
    .bubble_of_makespan = bubble,
};

}  // namespace penstock::seq_one_f_one_b_file
