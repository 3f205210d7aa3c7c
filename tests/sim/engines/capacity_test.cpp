#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <utility>
#include <variant>

#include "schedules/patterns/offload.hpp"
#include "sim/engines/events.hpp"
#include "tests/support/draws.hpp"
#include "tests/support/jobs.hpp"
#include "tests/support/random_system.hpp"
#include "validate/comparison/counted_memory.hpp"

namespace penstock::testing {
namespace {

void draw_conditions(PricedPlan& priced) {
  Conditions& conditions = priced.conditions;
  conditions.blocking_sends = one_in(4);
  conditions.rendezvous = one_in(4);
  conditions.sends_in_flight = one_in(2) ? 0 : from_to(1, 2);
  conditions.receives_in_flight = one_in(2) ? 0 : from_to(1, 2);
  if (one_in(4)) conditions.compute_slowdown = 1.5;
  if (one_in(4)) conditions.transfer_slowdown = 1.25;
  if (one_in(2)) return;
  conditions.network = {.links = {{"spine", 2e9, 0}}, .routes = {}, .sharing = Sharing::fair};
  if (one_in(2)) conditions.network.sharing = Sharing::fifo;
  for (std::size_t link = 0; link < priced.plan.links.size(); ++link) {
    conditions.network.routes.push_back(one_in(2) ? Route{0} : Route{});
  }
}

/// Whether a run takes the same times when every rank may hold what the fullest one held at most.
bool runs_within_its_peak(PricedPlan priced) {
  const RunOutcome free = run_events(priced);
  const auto* timeline = std::get_if<Timeline>(&free);
  if (timeline == nullptr) return true;
  const std::uint64_t most = std::ranges::max(peaks_of(priced, *timeline));
  const auto counted = counted_memory_peaks(priced.plan, priced.costs, *timeline);
  priced.conditions.stall_above_bytes = most;
  const RunOutcome held = run_events(priced);
  const auto* within = std::get_if<Timeline>(&held);
  return within != nullptr && within->begin == timeline->begin && within->end == timeline->end &&
         std::ranges::max(counted) == most;
}

}  // namespace

TEST_CASE("a capacity of the reported peak leaves every run as it is, to the picosecond") {
  CHECK(rc::check([] {
    for (int number = 0; number < 30; ++number) {
      PricedPlan plan = priced(random_system());
      if (one_in(2)) draw_bytes(plan);
      if (one_in(2)) draw_conditions(plan);
      RC_ASSERT(runs_within_its_peak(std::move(plan)));
    }
  }));
}

TEST_CASE("whether limits bind or not, plans are simulated as the event engine runs them") {
  CHECK(rc::check([] {
    for (int number = 0; number < 30; ++number) {
      PricedPlan plan = priced(random_system());
      if (one_in(2)) draw_bytes(plan);
      const std::uint64_t most = std::ranges::max(peaks_of(plan, relax(plan)));
      if (one_in(2))
        plan.conditions.stall_above_bytes = one_in(2) ? most : most * from_to(5, 15) / 10;
      if (one_in(2)) plan.conditions.sends_in_flight = from_to(1, 4);
      if (one_in(2)) plan.conditions.receives_in_flight = from_to(1, 4);
      const RunOutcome simulated = simulate(plan);
      const RunOutcome expected = run_events(plan);
      RC_ASSERT(simulated.index() == expected.index());
      if (const auto* halt = std::get_if<Standstill>(&expected)) {
        RC_ASSERT(std::get<Standstill>(simulated).text == halt->text);
      } else if (may_run_ahead(plan.conditions)) {
        RC_ASSERT(std::get<Timeline>(simulated).begin == std::get<Timeline>(expected).begin);
      } else {
        RC_ASSERT(std::get<Timeline>(simulated) == std::get<Timeline>(expected));
      }
    }
  }));
}

// Of the schedules, bpipe moves activations to other ranks; any may move them to the host.
TEST_CASE("a capacity of the reported peak leaves every schedule as it is, offloaded too") {
  CHECK(rc::check([] {
    const ScheduleEntry& entry =
        *schedule_entries()[below(static_cast<std::uint32_t>(schedule_entries().size()))];
    System system = system_of(entry, 4, 8);
    try {
      if (one_in(2)) system.schedule = offloaded(system.schedule, {.keep = from_to(1, 4)});
    } catch (const RuleError&) {  // the limit cannot be kept
    }
    PricedPlan plan = priced(system);
    draw_bytes(plan);
    RC_ASSERT(runs_within_its_peak(std::move(plan)));
  }));
}

// Rank 0 sends three outputs of 4,000 bytes at 1, 2 and 3 us, 4 us each; rank 1 reads one every
// 10 us. Its memory holds 8,000 bytes at most while it receives one and keeps another.
TEST_CASE("an activation is held from the start of its transfer") {
  Layer stage{.forward_us = 1, .backward_us = 0, .activation_bytes = 4000};
  Layer reader = stage_of(10, 0);
  System system = a_stage_each("0F0,0F1,0F2\n1F0,1F1,1F2", {stage, reader}, link(0, 1e9));
  const Outcome outcome = simulated(system);
  check_spans(outcome, {"0SEND_F1 5-9"});
  CHECK(outcome.report.ranks[1].memory.bytes == 8000);
  CHECK(to_us(outcome.report.ranks[1].memory.time) == 9);
}

}  // namespace penstock::testing
