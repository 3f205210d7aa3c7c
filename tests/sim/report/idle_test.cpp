#include "sim/report/idle.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <rapidcheck.h>

#include "tests/support/finished_run.hpp"
#include "tests/support/random_system.hpp"

namespace penstock::testing {
namespace {

/// "rank 1 9-13 before 1F1, which 0F1 made and 0SEND_F1 brought"
std::string gap_text(const Plan& plan, const IdleGap& gap) {
  std::string text =
      fmt::format("rank {} {}-{}", index(gap.rank), text_us(gap.begin), text_us(gap.end));
  if (gap.next != no_task) text += " before " + task_text(plan, gap.next);
  if (gap.producer != no_task) text += ", which " + task_text(plan, gap.producer) + " made";
  if (gap.input != no_task && gap.input != gap.producer) {
    text += " and " + task_text(plan, gap.input) + " brought";
  }
  return text;
}

}  // namespace

TEST_CASE("a gap tells what ended it, what that had waited for, and who made it") {
  // Forwards of 5 and 1 us, delay 3. Rank 0: F0 0-5, F1 5-10. Rank 1: F0 8-9, F1 13-14.
  const Outcome outcome =
      simulated(a_stage_each("0F0,0F1\n1F0,1F1", {stage_of(5, 0), stage_of(1, 0)}, delay(3)));
  const std::vector<IdleGap> gaps = idle_gaps(outcome.plan, outcome.timeline);
  REQUIRE(gaps.size() == 3);
  CHECK(gap_text(outcome.plan, gaps[0]) == "rank 0 10-14");
  CHECK(gap_text(outcome.plan, gaps[1]) == "rank 1 0-8 before 1F0");
  CHECK(gap_text(outcome.plan, gaps[2]) ==
        "rank 1 9-13 before 1F1, which 0F1 made and 0SEND_F1 brought");
}

TEST_CASE("a gap for what was away is split along its whole way, out and back") {
  // One rank, f = 1, b = 2, activations of 4,000 bytes and 1e9 bytes/s to the host and back:
  // F0 0-1, E0 and L0 at 1; out 1-5, back 5-9; F1 1-2; B0 waits from 2 to 9.
  System system{Placement::loop(1, 1), Schedule(1), {stage_of(1, 2)}, link(0, 1e9)};
  system.stages.front().stash_bytes = 4000;
  system.schedule.on(Rank{0}) = actions_of("0F0 0E0 0L0 0F1 0B0 0B1");
  const Outcome outcome = simulated(system);
  check_spans(outcome, {"0SEND_E0 1-5", "0SEND_L0 5-9", "0B0 9-11"});
  const std::vector<IdleGap> gaps = idle_gaps(outcome.plan, outcome.timeline);
  REQUIRE(gaps.size() == 1);
  CHECK(gap_text(outcome.plan, gaps[0]) ==
        "rank 0 2-9 before 0B0, which 0E0 made and 0SEND_L0 brought");
  CHECK(to_us(gaps[0].causes.transfer) == 7);
  CHECK(gaps[0].causes.total() == gaps[0].causes.transfer);
}

TEST_CASE("the parts of a gap come as they happened: a load waits for memory before it moves") {
  // Room for one activation, 4 us each way. F0 0-1, out 1-5; F1 waits for memory and runs 5-6, out
  // 6-10. Then there is room for F0's to come back, 10-14, and B0 runs, 14-16; F1's comes behind
  // it.
  System system{Placement::loop(1, 1), Schedule(1), {stage_of(1, 2)}, link(0, 1e9)};
  system.stages.front().stash_bytes = 4000;
  system.schedule.on(Rank{0}) = actions_of("0F0 0E0 0F1 0E1 0L0 0B0 0L1 0B1");
  const RunResult run = finished(system, {.stall_above_bytes = 4000});
  const std::vector<IdleGap> gaps = idle_gaps(*run.plan, run.timeline);
  REQUIRE(gaps.size() == 3);
  CHECK(gaps[0].parts == std::vector<IdlePart>{{IdleCause::memory, from_us(5)}});
  CHECK(gaps[1].parts == std::vector<IdlePart>{{IdleCause::memory, from_us(10)},
                                               {IdleCause::transfer, from_us(14)}});
  CHECK(gaps[2].parts == std::vector<IdlePart>{{IdleCause::transfer, from_us(20)}});
}

TEST_CASE("in any run the gaps of a rank fill what its actions leave, cause by cause") {
  CHECK(rc::check([] {
    const Outcome outcome = simulated(random_system());
    std::vector<Time> idle(outcome.plan.ranks), until(outcome.plan.ranks);
    Rank last{0};
    for (const IdleGap& gap : idle_gaps(outcome.plan, outcome.timeline)) {
      RC_ASSERT(gap.rank >= last);
      RC_ASSERT(gap.begin >= until[index(gap.rank)]);
      RC_ASSERT(gap.end > gap.begin);
      RC_ASSERT(gap.causes.total() == gap.end - gap.begin);
      IdleCauses sums;
      for_each_cause(gap, [&](IdleCause cause, Time begin, Time end) {
        RC_ASSERT(end > begin);
        time_of(sums, cause) += end - begin;
      });
      RC_ASSERT(gap.parts.back().end == gap.end);
      RC_ASSERT(sums == gap.causes);
      last = gap.rank;
      until[index(gap.rank)] = gap.end;
      idle[index(gap.rank)] += gap.end - gap.begin;
    }
    for (std::size_t r = 0; r < idle.size(); ++r) {
      RC_ASSERT(outcome.report.ranks[r].idle == idle[r]);
    }
  }));
}

}  // namespace penstock::testing
