#include <doctest/doctest.h>

#include <utility>

#include "experiments/measure/causes/causes.hpp"
#include "schedules/registry.hpp"
#include "sim/base/named.hpp"
#include "sim/costs/priced_plan.hpp"
#include "sim/engines/events.hpp"
#include "sim/timeline/timeline_file.hpp"
#include "tests/support/system.hpp"

namespace penstock::testing {
namespace {

/// A run of two stages in the order of PipeDream. Three ranks share the second one.
Recording shared_stage(const Layer& first, const Layer& second) {
  System system{
      Placement::given(4, {{Rank{0}}, {Rank{1}, Rank{2}, Rank{3}}}, {{Stage{0}, Stage{1}}}),
      {},
      {first, second},
      delay(1)};
  const ScheduleEntry& rule = *find_named(schedule_entries(), "pipedream");
  system.schedule = make_schedule(rule, system.placement, {30, {}});
  PricedPlan plan = priced(system);
  Timeline timeline = timeline_of(simulate(plan));
  return {std::move(plan.plan), std::move(timeline), "recorded"};
}

}  // namespace

// Of 48 µs of both stages' forwards each of the four ranks has 12.
TEST_CASE("causes: stages are even where their replicas share equal work") {
  const Recording even = shared_stage(stage_of(12, 24), stage_of(36, 72));
  CHECK(causes_of(even.plan, even.timeline).causes.empty());
  const Recording uneven = shared_stage(stage_of(24, 48), stage_of(24, 48));
  const StepCauses causes = causes_of(uneven.plan, uneven.timeline);
  REQUIRE(causes.causes.size() == 1);
  CHECK(causes.causes.front().kind == CauseKind::stages);
  CHECK(causes.causes.front().rank == 0U);
  CHECK(causes.ideal == makespan(even.plan, even.timeline));
}

}  // namespace penstock::testing
