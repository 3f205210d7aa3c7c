#include <doctest/doctest.h>

#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "experiments/input/scenario/scenario.hpp"
#include "experiments/run/layout/layout.hpp"
#include "experiments/run/simulation.hpp"
#include "schedules/registry.hpp"
#include "sim/base/error.hpp"
#include "sim/engines/events.hpp"
#include "tests/support/system.hpp"
#include "validate/job/replica_ranks.hpp"

namespace penstock::testing {
namespace {

const char* const four_mlps = R"({
  "penstock": 1,
  "model": { "sequence": 4, "microbatch": 1, "layers": [
    { "kind": "mlp", "hidden": 4, "intermediate": 8 },
    { "kind": "mlp", "hidden": 4, "intermediate": 8 },
    { "kind": "mlp", "hidden": 4, "intermediate": 8 },
    { "kind": "mlp", "hidden": 4, "intermediate": 8 } ] },
  "hardware": { "name": "roofline", "device": "a100-sxm4-80gb", "link": "nvlink-3", "devices": 4 },
  "parallel": { "pipeline": 2, "data": 2 },
  "memory": { "zero": 3, "optimizer": "adam", "whole_gradients": false },
  "schedule": { "name": "1f1b", "microbatches": 8 } })";

/// The plan of a schedule with flushes on two ranks; nothing where its rule refuses two of them.
std::optional<PricedPlan> flushed_plan(const ScheduleEntry& entry) {
  if (entry.weights != WeightUse::flushed) return std::nullopt;
  try {
    const std::string name = "/schedule/name=" + std::string(entry.name);
    const Layout layout = settle(parse_scenario(four_mlps, "four.json", {name}));
    return std::get<PricedPlan>(Simulation(layout).priced_order());
  } catch (const InputError&) {
    return std::nullopt;
  } catch (const UsageError&) {
    return std::nullopt;
  }
}

std::size_t count(const Plan& plan, Pass pass) {
  std::size_t found = 0;
  for (TaskId task = 0; task < plan.tasks(); ++task) {
    if (plan.class_of(task).pass == pass) ++found;
  }
  return found;
}

void check_inputs_come_first(const Plan& plan) {
  bool updated = false;
  for (TaskId task = 0; task < plan.tasks(); ++task) {
    const Pass pass = plan.class_of(task).pass;
    updated = updated || pass == Pass::update;
    CHECK_FALSE((updated && ends_activation(pass)));
    plan.for_each_input(task, [&](TaskId input) { CHECK(input < task); });
  }
}

/// The tasks of a pass that a task waits for.
std::vector<TaskId> inputs_of(const Plan& plan, TaskId task, Pass pass) {
  std::vector<TaskId> inputs;
  plan.for_each_input(task, [&](TaskId input) {
    if (plan.class_of(input).pass == pass) inputs.push_back(input);
  });
  return inputs;
}

/// Each update waits for the sums of its own stage, in all its copies.
void check_updates_wait_for_sums(const Plan& plan) {
  for (TaskId task = 0; task < plan.tasks(); ++task) {
    if (plan.class_of(task).pass != Pass::update) continue;
    const auto stage_of = [&](TaskId of) {
      return plan.model_stage[index(plan.class_of(of).stage)];
    };
    const std::vector<TaskId> sums = inputs_of(plan, task, Pass::reduce_gradient);
    CHECK_FALSE(sums.empty());
    for (const TaskId sum : sums) CHECK(stage_of(sum) == stage_of(task));
  }
}

}  // namespace

// Sums of ZeRO-3 are in the passes. Those added take no time, so that the run stays as long, and
// every update follows one of its stage on each rank.
TEST_CASE("sums of passes: they come between the last pass and the first update of every order") {
  std::size_t checked = 0;
  for (const ScheduleEntry* entry : schedule_entries()) {
    CAPTURE(entry->name);
    const auto priced = flushed_plan(*entry);
    if (!priced || count(priced->plan, Pass::update) == 0) continue;
    ++checked;
    check_inputs_come_first(priced->plan);
    const PricedPlan summed = with_sums_of_passes(*priced, 2);
    check_inputs_come_first(summed.plan);
    check_updates_wait_for_sums(summed.plan);
    CHECK(count(priced->plan, Pass::reduce_gradient) == 0);
    CHECK(count(summed.plan, Pass::reduce_gradient) == count(summed.plan, Pass::update));
    CHECK(summed.costs.duration.size() == summed.plan.classes.size());
    CHECK(summed.costs.latency.size() == summed.plan.classes.size());
    CHECK(summed.costs.bytes.size() == summed.plan.buffers.size());
    CHECK(summed.costs.task_duration.empty());
    CHECK(makespan(summed.plan, relax(summed)) == makespan(priced->plan, relax(*priced)));
  }
  CHECK(checked > 10);
}

TEST_CASE("sums of passes: what follows an update waits for that update still") {
  System system = a_stage_each("0F0,0B0", {stage_of(1, 2)}, link(0, 1e6));
  system.extras.tail = {.updates = true};
  system.training = {.data = 2, .optimizer_us = 1};
  PricedPlan plan = priced(system);
  const TaskId update = plan.plan.tasks() - 1;
  REQUIRE(plan.plan.class_of(update).pass == Pass::update);
  add_task(plan.plan, plan.plan.work[update], plan.plan.microbatch[update], update);
  const PricedPlan summed = with_sums_of_passes(std::move(plan), 2);
  check_updates_wait_for_sums(summed.plan);
  const TaskId last = summed.plan.tasks() - 1;
  CHECK(inputs_of(summed.plan, last, Pass::update) == std::vector<TaskId>{last - 1});
}

}  // namespace penstock::testing
