#include "tests/support/reruns.hpp"

#include <rapidcheck.h>

#include <algorithm>

#include "sim/engines/events.hpp"
#include "sim/engines/relax.hpp"

namespace penstock::testing {

std::uint32_t random_below(std::uint32_t end) {
  return *rc::gen::resize(rc::kNominalSize, rc::gen::inRange<std::uint32_t>(0, end));
}

std::optional<Timeline> full_run(const PricedPlan& priced) {
  RunOutcome outcome = simulate(priced);
  if (std::holds_alternative<Standstill>(outcome)) return std::nullopt;
  return std::get<Timeline>(std::move(outcome));
}

bool is_full_run(const Rerun& rerun) {
  const auto full = full_run(rerun.priced());
  const Timeline& timeline = rerun.timeline();
  return full && timeline.begin == full->begin && timeline.end == full->end &&
         timeline.last_input == full->last_input && timeline.slowed == full->slowed &&
         timeline.memory_wait == full->memory_wait && timeline.memory.empty();
}

std::optional<Rerun> rerun_of(const System& system, const Conditions& conditions, Time issue,
                              Time launch) {
  PricedPlan all{lowered(system), {}, conditions};
  all.costs = priced(system, all.plan);
  all.costs.issue = issue;
  all.costs.launch = launch;
  auto timeline = full_run(all);
  if (!timeline) return std::nullopt;
  return Rerun(std::move(all), *std::move(timeline));
}

Conditions random_conditions(const Plan& plan, const Costs& costs) {
  Conditions conditions;
  conditions.network.links = {{"even", 1e9, 0}, {"odd", 1e9, 0}};
  conditions.network.sharing = random_below(2) == 0 ? Sharing::fair : Sharing::fifo;
  if (random_below(3) == 0) {
    std::uint64_t most = 0;
    for (const MemoryPeak& peak : memory_peaks(plan, costs, relax({plan, costs}))) {
      most = std::max(most, peak.bytes);
    }
    conditions.stall_above_bytes = most * (8 + random_below(4)) / 10;
  }
  if (random_below(3) == 0) conditions.compute_slowdown = 1.5;
  if (random_below(3) == 0) conditions.transfer_slowdown = 1.25;
  if (random_below(4) == 0) conditions.sends_in_flight = conditions.receives_in_flight = 1;
  if (random_below(4) == 0) conditions.blocking_sends = true;
  return conditions_for(plan, conditions);
}

Conditions conditions_for(const Plan& plan, Conditions conditions) {
  if (conditions.network.links.empty()) return conditions;
  conditions.network.routes.clear();
  for (const Link& link : plan.links) {
    conditions.network.routes.push_back({(index(link.from) + index(link.to)) % 2});
  }
  return conditions;
}

std::map<std::string, std::string> spans_by_text(const Plan& plan, const Timeline& timeline,
                                                 bool with_inputs) {
  std::map<std::string, std::string> spans;
  for (TaskId task = 0; task < plan.tasks(); ++task) {
    std::string& span = spans[task_text(plan, task)];
    span = text_us(timeline.begin[task]) + "-" + text_us(timeline.end[task]);
    const TaskId last = timeline.last_input[task];
    if (with_inputs && last != no_task) span += " after " + task_text(plan, last);
  }
  return spans;
}

}  // namespace penstock::testing
