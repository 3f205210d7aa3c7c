// A schedule of one's own beside two of Penstock: GPipe on a few microbatches at a time.
#include <cstdio>

#include "schedules/registry.hpp"
#include "sim/base/named.hpp"
#include "sim/engines/events.hpp"
#include "sim/plan/lower.hpp"
#include "sim/report/report.hpp"

using namespace penstock;

/// As many forwards as there are ranks, then their backwards, and so on.
Schedule in_waves(const Placement& placement, const ScheduleOptions& options) {
  const unsigned wave = placement.ranks(), all = options.microbatch_count;
  Schedule order(placement.ranks());
  for (unsigned first = 0; first < all; first += wave)
    for (Stage stage : placement.stages())
      for (Pass pass : {Pass::forward, Pass::backward})
        for (unsigned m = first; m < first + wave && m < all; ++m)
          order.on(placement.rank_of(stage)).emplace_back(pass, stage, Microbatch{m});
  return order;
}

void print(const ScheduleEntry& rule) {
  const Placement placement = rule.place(4, 1);
  const Plan plan = std::get<Plan>(lower(make_schedule(rule, placement, {16, {}}), placement));
  Costs costs;
  for (const WorkClass& work : plan.classes)
    costs.duration.push_back(from_us(is_transfer(work.pass) ? 0 : 1000));
  costs.latency.resize(plan.classes.size());
  costs.bytes.resize(plan.buffers.size());
  const Report report = summarize(plan, costs, std::get<Timeline>(simulate({plan, costs})));
  std::printf("%-8s bubble %.1f %%, rank 0 keeps %u microbatches\n", rule.name.data(),
              report.bubble.of_makespan * 100, report.ranks[0].peak_activations);
}

int main() {
  for (const char* name : {"gpipe", "1f1b"}) print(*find_named(schedule_entries(), name));
  print({.name = "in waves", .place = one_stage_a_rank, .make = in_waves});
}
