// Simulates an order that is written out: 1F1B on two ranks, of which the second is slower.
#include <cstdio>
#include <variant>

#include "sim/engines/events.hpp"
#include "sim/plan/lower.hpp"
#include "sim/report/report.hpp"

using namespace penstock;

/// A forward takes 100 µs on rank 0 and 200 µs on rank 1, a backward twice that; a tensor for the
/// other rank arrives 5 µs later. Nothing takes memory.
Costs costs_of(const Plan& plan) {
  Costs costs;
  for (const WorkClass& work : plan.classes) {
    const double forward_us = work.stage == Stage{0} ? 100 : 200;
    const double work_us = work.pass == Pass::forward ? forward_us : 2 * forward_us;
    costs.duration.push_back(from_us(is_transfer(work.pass) ? 0 : work_us));
    costs.latency.push_back(from_us(is_transfer(work.pass) ? 5 : 0));
  }
  costs.bytes.resize(plan.buffers.size());
  return costs;
}

int main() {
  constexpr Pass F = Pass::forward, B = Pass::backward;
  Schedule order(2);
  const auto add = [&](unsigned rank, Pass pass, unsigned microbatch) {
    order.on(Rank{rank}).emplace_back(pass, Stage{rank}, Microbatch{microbatch});
  };
  add(0, F, 0), add(0, F, 1), add(0, B, 0), add(0, F, 2), add(0, B, 1), add(0, B, 2);
  add(1, F, 0), add(1, B, 0), add(1, F, 1), add(1, B, 1), add(1, F, 2), add(1, B, 2);
  const Plan plan = std::get<Plan>(lower(order, Placement::loop(2, 1)));
  const Costs costs = costs_of(plan);
  const Report report = summarize(plan, costs, std::get<Timeline>(simulate({plan, costs})));
  for (const RankReport& rank : report.ranks) std::printf("idle %.0f us\n", to_us(rank.idle));
  std::printf("step %.0f us, bubble %.1f %%\n", to_us(report.makespan),
              report.bubble.of_makespan * 100);
}
