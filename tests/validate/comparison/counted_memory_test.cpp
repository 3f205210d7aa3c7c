#include "validate/comparison/counted_memory.hpp"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include "sim/engines/events.hpp"
#include "tests/support/draws.hpp"
#include "tests/support/jobs.hpp"
#include "tests/support/random_system.hpp"
#include "tests/support/replays.hpp"
#include "validate/job/replica_ranks.hpp"

// What a run is counted to hold follows from its actions; what a simulation holds, from the effects
// that lowering gave its tasks.

namespace penstock::testing {
namespace {

/// Whether counted and simulated peaks of a run are equal, and what was run was simulated.
bool agree(const Job& job) {
  const auto outcome = cpu_logical().make(job)->run();
  const auto* timeline = std::get_if<Timeline>(&outcome);
  return timeline != nullptr && differences(job, *timeline) == 0 &&
         counted_memory_peaks(job.priced.plan, job.priced.costs, *timeline) ==
             peaks_of(job.priced, *timeline);
}

}  // namespace

TEST_CASE("counted memory: a thousand random plans hold at their peaks what is simulated") {
  CHECK(rc::check([] {
    for (int number = 0; number < 10; ++number) {
      PricedPlan plan = priced(random_system());
      draw_bytes(plan);
      if (!takes_time(plan)) continue;
      RC_ASSERT(agree(job_of(std::move(plan), {.mean_action_ns = 1'000, .least_work_ns = 0})));
    }
  }));
}

// Many more than can be run: they hold what they hold whoever says when they run. Replicas run one
// plan on ranks of their own.
TEST_CASE("counted memory: thousands of simulated plans, replicas too, hold what is simulated") {
  CHECK(rc::check([] {
    for (int number = 0; number < 30; ++number) {
      PricedPlan plan = priced(random_system());
      draw_bytes(plan);
      if (one_in(3)) plan = with_replica_ranks(plan, std::vector<Costs>(from_to(2, 3), plan.costs));
      const auto outcome = simulate(plan);
      const auto* timeline = std::get_if<Timeline>(&outcome);
      if (timeline == nullptr) continue;
      RC_ASSERT(counted_memory_peaks(plan.plan, plan.costs, *timeline) ==
                peaks_of(plan, *timeline));
    }
  }));
}

// Of these, bpipe moves activations to other ranks and back.
TEST_CASE("counted memory: the peaks of every schedule that is run are those that are simulated") {
  for (const ScheduleEntry* entry : schedule_entries()) {
    CAPTURE(entry->name);
    PricedPlan plan = priced(system_of(*entry, 4, 8));
    for (std::size_t buffer = 0; buffer < plan.plan.buffers.size(); ++buffer) {
      plan.costs.bytes[buffer] = 100 + index(plan.plan.buffers[buffer].stage);
    }
    CHECK(agree(job_of(std::move(plan), quick)));
  }
}

// One rank and one stage of 1000 bytes; stash 10, workspace 3. F0 and F1 hold 2 stashes and a
// workspace, then B0 frees one.
TEST_CASE("counted memory: activations are held from F to the end of B") {
  System system = a_stage_each("0F0,0F1,0B0,0B1", {stage_of(1, 2)});
  system.extras.holds[static_cast<std::size_t>(BufferKind::workspace)] = true;
  PricedPlan plan = priced(system);
  for (std::size_t buffer = 0; buffer < plan.plan.buffers.size(); ++buffer) {
    const BufferKind kind = plan.plan.buffers[buffer].kind;
    plan.costs.bytes[buffer] = kind == BufferKind::parameters  ? 1000
                               : kind == BufferKind::workspace ? 3
                                                               : 10;
  }
  const Job job = job_of(std::move(plan), quick);
  const Timeline timeline = std::get<Timeline>(simulate(job.priced));
  CHECK(counted_memory_peaks(job.priced.plan, job.priced.costs, timeline) ==
        std::vector<std::uint64_t>{1023});
}

}  // namespace penstock::testing
