#include <fmt/format.h>

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

std::optional<Obstacle> apart_obstacle(const PricedPlan& priced) {
  if (auto obstacle = thread_obstacle(priced)) return obstacle;
  if (!may_run_ahead(priced.conditions)) {
    return Obstacle{.of_machine = false,
                    .text =
                        "ranks that wait for memory or for each other; cpu_logical does, in one "
                        "process"};
  }
  if (!shares_links(priced)) return std::nullopt;
  return Obstacle{.of_machine = false,
                  .text = priced.plan.written
                              ? "communication as written over links that ranks share, or whose "
                                "transfers may overtake each other; cpu_logical does"
                              : "links that ranks share; cpu_logical does"};
}

}  // namespace penstock
