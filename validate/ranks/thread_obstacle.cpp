#include <fmt/format.h>

#include <utility>

#include "sim/engines/events.hpp"
#include "validate/ranks/rank_runner.hpp"

namespace penstock {

bool goes_by_engine(const PricedPlan& priced) {
  return !may_run_ahead(priced.conditions) || (priced.plan.written && shares_links(priced));
}

std::optional<Obstacle> thread_obstacle(const PricedPlan& priced) {
  const Plan& plan = priced.plan;
  constexpr std::uint32_t most_ranks = 256;
  constexpr std::uint32_t most_tasks = 200'000;
  if (auto reason = why_no_programs(plan)) return Obstacle{.of_machine = false, .text = *reason};
  if (plan.ranks > most_ranks) {
    return Obstacle{true,
                    fmt::format("{} ranks, one thread each; at most {}", plan.ranks, most_ranks)};
  }
  if (plan.tasks() > most_tasks) {
    return Obstacle{true,
                    fmt::format("{} actions and transfers; at most {}", plan.tasks(), most_tasks)};
  }
  return std::nullopt;
}

std::optional<std::string> why_not_apart(const PricedPlan& priced) {
  const Conditions& conditions = priced.conditions;
  const std::pair<bool, const char*> reasons[] = {
      {conditions.stall_above_bytes.has_value(), "ranks that wait for memory (/memory/policy)"},
      {conditions.compute_slowdown != 1,
       "actions that transfers slow down (/overheads/compute_slowdown_by_transfer)"},
      {conditions.transfer_slowdown != 1,
       "transfers that actions slow down (/overheads/transfer_slowdown_by_compute)"},
      {conditions.blocking_sends, "sends that block (/hardware/transfers/blocking)"},
      {conditions.rendezvous,
       "transfers that wait for their receiver (/hardware/transfers/rendezvous)"},
      {conditions.limits_in_flight(), "limits of transfers in flight (/hardware/transfers)"},
      {shares_links(priced), priced.plan.written
                                 ? "communication as written over links that ranks share, or whose "
                                   "transfers may overtake each other"
                                 : "links that ranks share"}};
  for (const auto& [holds, reason] : reasons) {
    if (holds) return reason;
  }
  return std::nullopt;
}

std::optional<Obstacle> apart_obstacle(const PricedPlan& priced) {
  if (auto obstacle = thread_obstacle(priced)) return obstacle;
  const auto reason = why_not_apart(priced);
  if (!reason) return std::nullopt;
  return Obstacle{.of_machine = false,
                  .text = fmt::format("{}; cpu_logical does, in one process", *reason)};
}

}  // namespace penstock
