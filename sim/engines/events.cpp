#include "sim/engines/events.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "sim/engines/relax.hpp"
#include "sim/engines/run_ahead.hpp"
#include "sim/engines/stepwise.hpp"
#include "sim/engines/transfers.hpp"

namespace penstock {

void prepare(const Plan& plan, Timeline& timeline) {
  constexpr Time unknown{-1};
  timeline.begin.assign(plan.tasks(), unknown);
  timeline.end.assign(plan.tasks(), unknown);
  timeline.last_input.assign(plan.tasks(), no_task);
  timeline.slowed.clear();
  timeline.memory_wait.clear();
  timeline.memory.clear();
}

std::optional<Standstill> run_events(const Plan& plan, const Costs& costs,
                                     const Conditions& conditions, Timeline& timeline) {
  prepare(plan, timeline);
  return may_run_ahead(conditions) ? run_ahead(plan, costs, conditions, timeline)
                                   : run_stepwise(plan, costs, conditions, timeline);
}

std::optional<Standstill> simulate(const Plan& plan, const Costs& costs,
                                   const Conditions& conditions, Timeline& timeline) {
  if (why_not_relax(plan, conditions)) return run_events(plan, costs, conditions, timeline);
  relax(plan, costs, timeline);
  return std::nullopt;
}

std::optional<std::string> why_not_relax(const Plan& plan, const Conditions& conditions) {
  if (conditions.stall_above_bytes) return "actions wait for memory";
  if (conditions.compute_slowdown != 1) return "transfers slow actions down";
  if (conditions.transfer_slowdown != 1) return "actions slow transfers down";
  if (conditions.blocking_sends) return "ranks wait for what they send";
  if (conditions.rendezvous) return "transfers wait for their readers";
  if (conditions.in_flight != 0) return "the transfers in flight are limited";
  const std::vector<bool> is_private = private_links(plan, conditions.network);
  const auto shared = std::find(is_private.begin(), is_private.end(), false);
  if (shared == is_private.end()) return std::nullopt;
  const Link& link = plan.links[static_cast<std::size_t>(shared - is_private.begin())];
  return fmt::format("the transfers from {} to {} share links, or come in no fixed order",
                     end_phrase(link.from), end_phrase(link.to));
}

std::string text(const Plan& plan, const Standstill& standstill) {
  std::string all = fmt::format("deadlock: at {} us ", text_us(standstill.time));
  for (std::size_t i = 0; i < standstill.stuck.size(); ++i) {
    const Stuck& stuck = standstill.stuck[i];
    all += fmt::format("{}{} waits for {}", i == 0 ? "" : "; ", task_text(plan, stuck.task),
                       stuck.needs);
  }
  return all;
}

}  // namespace penstock
