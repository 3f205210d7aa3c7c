#include "sim/engines/events.hpp"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <algorithm>

#include "tests/support/random_system.hpp"

namespace penstock::testing {
namespace {

/// Four ranks of which 0 sends to 1 and 2 to 3, over one link that both pairs share. F takes 1 us;
/// `first` and `second` are the bytes that stages 0 and 2 put out, each of which takes 1 ns alone.
Outcome run_two_pairs(std::string_view order, double first, double second,
                      Sharing sharing = Sharing::fair) {
  PricedPlan all = over_one_link(priced(in_pairs({0, 1, 2, 3}, order, 1, 0)), sharing);
  for (std::size_t c = 0; c < all.plan.classes.size(); ++c) {
    if (!is_transfer(all.plan.classes[c].pass)) continue;
    const double bytes = all.plan.classes[c].stage == Stage{0} ? first : second;
    all.costs.duration[c] = from_us(bytes * 1e-3);
  }
  return by_events(all);
}

/// Two ranks that hand two microbatches on: F takes `forward_us`, and a transfer `transfer_us`.
System two_ranks(double forward_us, double transfer_us) {
  return in_pairs({0, 1}, "0F0,0F1\n1F0,1F1", forward_us, transfer_us);
}

PricedPlan priced_under(const System& system, const Conditions& conditions) {
  PricedPlan all = priced(system);
  all.conditions = conditions;
  return all;
}

Outcome run(const System& system, const Conditions& conditions) {
  return by_events(priced_under(system, conditions));
}

std::string halt_text(const System& system, const Conditions& conditions) {
  return std::get<Standstill>(run_events(priced_under(system, conditions))).text;
}

}  // namespace

TEST_CASE("without contention, the event engine runs any order to the byte as relax does") {
  CHECK(rc::check([] {
    PricedPlan all = priced(random_system());
    const Timeline relaxed = relax(all);
    // A limit that is never reached changes nothing, but makes every start and end an event.
    for (const std::uint32_t most_sends : {0U, UINT32_MAX}) {
      all.conditions.sends_in_flight = most_sends;
      const Timeline timeline = timeline_of(run_events(all));
      RC_ASSERT(timeline.begin == relaxed.begin);
      RC_ASSERT(timeline.end == relaxed.end);
      RC_ASSERT(timeline.last_input == relaxed.last_input);
    }
  }));
}

TEST_CASE("two transfers over one link each get half of it") {
  // F takes 1 us; 4,000 bytes take 4 us alone. Both leave at 1 and share the link: 8 us each.
  const Outcome outcome = run_two_pairs("0F0\n1F0\n2F1\n3F1", 4000, 4000);
  check_spans(outcome, {"0SEND_F0 1-9", "2SEND_F1 1-9"});
  CHECK(to_us(outcome.timeline.slowed[task_of(outcome.plan, "0SEND_F0")]) == 4);
  CHECK(to_us(outcome.report.makespan) == 10);
}

TEST_CASE("when a transfer ends, what is left of the other has the link to itself") {
  // 2,000 and 6,000 bytes from 1 us on: half the link each until the first has left at 5, when
  // 4,000 are left of the second, which take 4 us more.
  const Outcome outcome = run_two_pairs("0F0\n1F0\n2F1\n3F1", 2000, 6000);
  check_spans(outcome, {"0SEND_F0 1-5", "2SEND_F1 1-9"});
}

TEST_CASE("transfers of one pair go one after the other, and share with another pair's") {
  // Two of 2,000 bytes from 0 to 1, ready at 1 and 2; one of 4,000 from 2 to 3, ready at 1. Half
  // the link each: the first leaves at 5, the second goes 5-9, as does the third 1-9.
  const Outcome outcome = run_two_pairs("0F0,0F2\n1F0,1F2\n2F1\n3F1", 2000, 4000);
  check_spans(outcome, {"0SEND_F0 1-5", "0SEND_F2 5-9", "2SEND_F1 1-9"});
}

TEST_CASE("a shared link in fifo order serves one transfer at a time, the lower stage first") {
  const Outcome outcome = run_two_pairs("0F0\n1F0\n2F1\n3F1", 4000, 4000, Sharing::fifo);
  check_spans(outcome, {"0SEND_F0 1-5", "2SEND_F1 5-9"});
}

TEST_CASE("an action runs slower while a transfer of its rank is in flight") {
  // F takes 4 us, a transfer 4 us, factor 2. Rank 0: F0 0-4; F1 does 2 us of its work while F0's
  // output travels 4-8, and the rest 8-10. Rank 1: F0 does 2 us by 10, and the rest while F1's
  // output travels 10-14; F1 14-18.
  const Outcome outcome = run(two_ranks(4, 4), {.compute_slowdown = 2});
  check_spans(outcome, {"0F1 4-10", "0SEND_F1 10-14", "1F0 8-14", "1F1 14-18"});
  CHECK(to_us(outcome.timeline.slowed[task_of(outcome.plan, "0F1")]) == 2);
}

TEST_CASE("a transfer runs slower while one of its ranks runs an action") {
  // F takes 4 us, a transfer 4 us, factor 2. The first does 2 us of its way while rank 0 runs F1
  // 4-8, and the rest 8-10. The second starts at 10, does 2 us while rank 1 runs F0 10-14, and the
  // rest 14-16.
  const Outcome outcome = run(two_ranks(4, 4), {.transfer_slowdown = 2});
  check_spans(outcome, {"0SEND_F0 4-10", "0SEND_F1 10-16", "1F1 16-20"});
}

TEST_CASE("with blocking sends a rank goes on when what it sends has left") {
  // F takes 1 us, a transfer 4 us to leave and 1 more to arrive. Rank 0: F0 0-1, sends 1-5, F1 5-6.
  System system = two_ranks(1, 4);
  system.hardware.latency_us = 1;
  const Outcome outcome = run(system, {.blocking_sends = true});
  check_spans(outcome, {"0SEND_F0 1-6", "0F1 5-6", "1F1 11-12"});
  CHECK(causes_text(outcome.report.ranks[0].idle_by_cause) == "drain 6 transfer 4");
}

TEST_CASE("with rendezvous a transfer starts only when its reader waits for it") {
  // F takes 1 us on rank 0 and 10 us on rank 1, a transfer 4 us. Rank 1 waits from the start, so
  // F0's output travels 1-5; then it runs F0 5-15 and only then takes F1's, 15-19.
  System system = two_ranks(1, 4);
  system.stages[1].forward_us = 10;
  const Outcome outcome = run(system, {.rendezvous = true});
  check_spans(outcome, {"0SEND_F0 1-5", "0SEND_F1 15-19", "1F1 19-29"});
}

TEST_CASE("two ranks that send to each other, block and wait for their readers never go on") {
  // Rank 0 sends 0F0 to rank 1 while rank 1 sends 2F1 to rank 0; both wait for the other to
  // receive.
  const System system = in_pairs({0, 1, 1, 0}, "0F0,3F1\n2F1,1F0", 1, 0);
  CHECK(halt_text(system, {.blocking_sends = true, .rendezvous = true}) ==
        "deadlock: at 1 µs 3F1 waits for 2SEND_F1; 1F0 waits for 0SEND_F0; "
        "0SEND_F0 waits for rank 1 to be ready to receive it; "
        "2SEND_F1 waits for rank 0 to be ready to receive it");
}

TEST_CASE("with rendezvous, a reader that wants the second of two transfers first waits for ever") {
  // Rank 0 sends 0F0, then 2F1, over one link; rank 1 would first read the second.
  const System system = in_pairs({0, 1, 0, 1}, "0F0,2F1\n3F1,1F0", 1, 0);
  CHECK(halt_text(system, {.rendezvous = true}) ==
        "deadlock: at 2 µs 3F1 waits for 2SEND_F1, which follows 0SEND_F0; 0SEND_F0 waits for rank "
        "1 to be ready to receive it");
}

TEST_CASE("a run halts when the last thing has happened, not when something was once expected") {
  // F takes 4 us, a transfer 4 us, factor 2. While the first output travels 4-8, F1 of rank 0 was
  // to end at 12; from then on it is faster, and ends at 10. Rank 1 has no room for its F0.
  System system = two_ranks(4, 4);
  system.stages[1].stash_bytes = 5000;
  CHECK(halt_text(system, {.stall_above_bytes = 4500, .compute_slowdown = 2}) ==
        "deadlock: at 10 µs 1F0 waits for memory of rank 1: it needs 1000 B more, and 3.906 KiB "
        "of 4.395 KiB are in use; 0SEND_F1 waits for memory of rank 1");
}

TEST_CASE("a rank with one transfer in flight at a time sends to two others in turn") {
  // Rank 0 makes outputs for ranks 1 and 2 at 1 and 2 us; each travels 4 us, the second after the
  // first though its link is free.
  Conditions conditions;
  conditions.sends_in_flight = conditions.receives_in_flight = 1;
  const Outcome outcome = run(in_pairs({0, 1, 0, 2}, "0F0,2F1\n1F0\n3F1"), conditions);
  check_spans(outcome, {"0SEND_F0 1-5", "2SEND_F1 5-9"});
}

TEST_CASE("a transfer waits until its receiver has memory for it") {
  // F takes 1 us on rank 0 and 10 us on rank 1, a transfer 4 us and 4,000 bytes, which is all that
  // rank 1 has room for: it is free again when an F starts to read. F0's output travels 1-5, F1's
  // from then to 9, F2's from 15 on.
  System system = two_ranks(1, 4);
  system.stages[1].forward_us = 10;
  system.schedule = order_of("0F0,0F1,0F2\n1F0,1F1,1F2");
  const Outcome outcome = run(system, {.stall_above_bytes = 4000});
  check_spans(outcome, {"0SEND_F1 5-9", "0SEND_F2 15-19"});
  CHECK(to_us(outcome.timeline.memory_wait[task_of(outcome.plan, "0SEND_F2")]) == 6);
}

TEST_CASE("with one byte less than it ever needs, a run comes to a halt that says so") {
  const System system = two_ranks(1, 4);
  CHECK(halt_text(system, {.stall_above_bytes = 3999}) ==
        "deadlock: at 2 µs 1F0 waits for 0SEND_F0; 0SEND_F0 waits for memory of rank 1");
}

TEST_CASE("an action that can never have its memory is named with what it lacks") {
  // Each F keeps 100 bytes; the second is 50 over what there is, and its B stands behind it.
  Layer stage{.forward_us = 1, .backward_us = 1, .stash_bytes = 100};
  const System system = a_stage_each("0F0,0F1,0B0,0B1", {stage});
  CHECK(halt_text(system, {.stall_above_bytes = 150}) ==
        "deadlock: at 1 µs 0F1 waits for memory of rank 0: it needs 100 B more, and 100 B of 150 "
        "B are in use");
}

TEST_CASE("whatever the capacity, a run that ends has kept within it, and its causes add up") {
  CHECK(rc::check([] {
    PricedPlan all = priced(random_system());
    const std::uint64_t most = std::ranges::max(peaks_of(all, relax(all)));
    all.conditions = {.stall_above_bytes = most * *rc::gen::inRange<std::uint64_t>(5, 21) / 10,
                      .compute_slowdown = *rc::gen::elementOf(std::vector<double>{1, 1.5, 3}),
                      .transfer_slowdown = *rc::gen::elementOf(std::vector<double>{1, 1.25})};
    const RunOutcome outcome = run_events(all);
    if (std::holds_alternative<Standstill>(outcome)) return;
    const auto& timeline = std::get<Timeline>(outcome);
    RC_ASSERT(std::ranges::max(peaks_of(all, timeline)) <= *all.conditions.stall_above_bytes);
    const Report report = summarize(all.plan, all.costs, timeline);
    for (const RankReport& rank : report.ranks) {
      RC_ASSERT(rank.idle_by_cause.total() == rank.idle);
      RC_ASSERT(rank.busy + rank.idle == report.makespan);
    }
  }));
}

}  // namespace penstock::testing
