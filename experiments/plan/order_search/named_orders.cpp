#include <fmt/format.h>

#include <algorithm>
#include <tuple>
#include <utility>

#include "experiments/input/files/table.hpp"
#include "experiments/plan/order_search/order_hunt.hpp"
#include "experiments/run/changes/scenario_changes.hpp"
#include "schedules/registry.hpp"
#include "sim/base/error.hpp"

namespace penstock {
namespace {

bool comparable(const ScheduleEntry& entry, const Layout& base) {
  return entry.copies == 1 && entry.slices_for == nullptr && entry.weights == WeightUse::flushed &&
         &entry != base.rule;
}

std::vector<std::string> settings_for(const ScheduleEntry& entry, const Layout& base) {
  const std::uint32_t ranks = base.placement.ranks();
  return {schedule_setting(entry, base), fmt::format("/parallel/pipeline={}", ranks),
          fmt::format("/parallel/chunks={}", base.placement.stage_count() / ranks)};
}

ComparedOrder named_order(std::string name, const RunResult& result) {
  ComparedOrder order{.name = std::move(name), .layout = result.layout};
  order.makespan = step_of(result);
  order.peak_bytes = result.report->ranks[index(worst_of(*result.report))].memory.bytes;
  order.word = worst_memory(result).word;
  order.may_fit = compared_step(result).has_value();
  const std::uint64_t sure = result.layout.memory.usable_bytes().value_or(UINT64_MAX);
  order.fits = order.may_fit && highest_peak(*result.report, result.batch).bytes <= sure;
  return order;
}

}  // namespace

RunResult compared_run(Layout layout) {
  const std::uint32_t draws = layout.documents ? judged_draws : 0;
  return run(std::move(layout), {.repeat = draws});
}

RunResult ended_run(RunResult run) {
  if (run.report || run.layout.memory.policy != MemoryPolicy::stall) return run;
  Layout layout = run.layout;
  layout.memory.policy = MemoryPolicy::finding;
  RunResult ended = compared_run(std::move(layout));
  ended.layout.memory.policy = MemoryPolicy::stall;
  ended.findings.insert(ended.findings.begin(), run.findings.begin(), run.findings.end());
  return ended;
}

std::optional<Time> compared_step(const RunResult& run) {
  const bool counts = run.report && run.findings.empty() && all_draws_end(run);
  return counts ? std::optional(step_of(run)) : std::nullopt;
}

std::string compared_text(const RunResult& run) {
  const Time step = step_of(run);
  if (!run.repeated || !run.repeated->mean_within) return short_time_text(step);
  const TimeUnit unit = unit_for(step);
  const auto& [low, high] = *run.repeated->mean_within;
  return fmt::format("{} ± {} {} (mean of {} draws)", short_time_text(step, unit),
                     short_time_text(from_us((high - low) / 2), unit), unit.name,
                     run.repeated->makespans.size());
}

std::vector<ComparedOrder> named_orders(const Scenario& scenario, const RunResult& base) {
  std::vector<ComparedOrder> orders;
  if (base.report) orders.push_back(named_order(base.layout.name, base));
  for (const ScheduleEntry* entry : schedule_entries()) {
    if (!comparable(*entry, base.layout)) continue;
    try {
      const RunResult result =
          ended_run(compared_run(settle(changed(scenario, settings_for(*entry, base.layout)))));
      const bool same =
          result.layout.placement.stage_count() == base.layout.placement.stage_count() &&
          result.layout.placement.ranks() == base.layout.placement.ranks() &&
          result.layout.schedule.has_backward();
      if (same && result.report) {
        orders.push_back(named_order(std::string(entry->name), result));
      }
    } catch (const InputError&) {  // the rule does not take these sizes or costs
    } catch (const UsageError&) {
    }
  }
  std::ranges::stable_sort(orders, [](const ComparedOrder& a, const ComparedOrder& b) {
    return std::tuple(!a.fits, !a.may_fit, a.makespan) <
           std::tuple(!b.fits, !b.may_fit, b.makespan);
  });
  return orders;
}

}  // namespace penstock
