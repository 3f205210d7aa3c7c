#include <doctest/doctest.h>

#include <utility>

#include "sim/engines/events.hpp"
#include "sim/report/critical_path.hpp"
#include "tests/support/system.hpp"

namespace penstock::testing {
namespace {

/// Two ranks that hand so many microbatches on and back, one after the other.
System ping_pong(std::uint32_t microbatches) {
  System system{Placement::loop(2, 1), Schedule(2), {stage_of(1, 2), stage_of(1, 2)}, delay(1)};
  for (Microbatch m : Numbers<Microbatch>(microbatches)) {
    for (const Pass pass : {Pass::forward, Pass::backward}) {
      for (std::uint32_t r : {0U, 1U}) system.schedule.on(Rank{r}).push_back({pass, Stage{r}, m});
    }
  }
  return system;
}

}  // namespace

TEST_CASE("the task before another is the last one of its rank or link, in whatever block") {
  const PricedPlan all = priced(ping_pong(8000));
  const Plan& plan = all.plan;
  REQUIRE(plan.tasks() == 48'000);  // three blocks
  std::vector<TaskId> last(plan.resources(), no_task), expected;
  for (TaskId task = 0; task < plan.tasks(); ++task) {
    expected.push_back(std::exchange(last[plan.class_of(task).resource], task));
  }
  TasksBefore before(plan, all.costs, relax(all));
  std::vector<TaskId> found(plan.tasks());
  for (TaskId task = plan.tasks(); task-- > 0;) found[task] = before.of(task);
  CHECK(found == expected);
  CHECK(before.of(plan.tasks() - 1) == expected.back());
}

TEST_CASE("transfers that a link served in another order follow each other as they were served") {
  const PricedPlan all = priced(ping_pong(3));
  Timeline timeline = relax(all);
  const TaskId first = task_of(all.plan, "0SEND_F0");
  const TaskId second = task_of(all.plan, "0SEND_F1");
  const TaskId third = task_of(all.plan, "0SEND_F2");
  std::swap(timeline.begin[first], timeline.begin[third]);
  std::swap(timeline.end[first], timeline.end[third]);
  TasksBefore before(all.plan, all.costs, timeline);
  CHECK(before.of(third) == no_task);
  CHECK(before.of(second) == third);
  CHECK(before.of(first) == second);
  CHECK(before.of(task_of(all.plan, "0F1")) == task_of(all.plan, "0B0"));
}

}  // namespace penstock::testing
