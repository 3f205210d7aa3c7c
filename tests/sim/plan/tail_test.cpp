#include "sim/plan/tail.hpp"

#include <doctest/doctest.h>

#include "sim/base/error.hpp"
#include "sim/engines/events.hpp"
#include "tests/support/system.hpp"

namespace penstock::testing {
namespace {

/// Two ranks, f = 1, b = 2, and so many bytes of parameters a stage; a byte takes 1 us on its link.
/// Without a tail: rank 0 F0 0-1, F1 1-2, B0 4-6, B1 7-9; rank 1 F0 1-2, B0 2-4, F1 4-5, B1 5-7.
System tail_pipeline(double parameter_bytes, Tail tail, Training training) {
  Layer stage{.forward_us = 1, .backward_us = 2, .parameter_bytes = parameter_bytes};
  System system = a_stage_each("0F0,0F1,0B0,0B1\n1F0,1B0,1F1,1B1", {stage, stage}, link(0, 1e6));
  system.extras.tail = std::move(tail);
  system.training = training;
  return system;
}

/// The tail of an outcome: "1REDUCE1 7-9, …", in the order of the plan.
std::string tail_text(const Outcome& outcome) {
  return spans_text(outcome, [&](TaskId task) {
    const Pass pass = outcome.plan.class_of(task).pass;
    return is_tail(pass) || pass == Pass::update;
  });
}

}  // namespace

TEST_CASE("gradients are summed over data replicas behind the last backward of each stage") {
  // All-reduce of 4 bytes over two: 2 * 1/2 * 4 = 4 us. The makespan is that of the links.
  const Outcome outcome = simulated(tail_pipeline(4, {.reduces = {true, true}}, {.data = 2}));
  CHECK(tail_text(outcome) == "1REDUCE1 7-11, 0REDUCE1 9-13");
  CHECK(to_us(outcome.report.makespan) == 13);
  CHECK(to_us(outcome.report.ranks[1].idle_by_cause.drain) == 6);
  CHECK(task_text(outcome.plan, outcome.report.critical_path.back().task) == "0REDUCE1");
}

TEST_CASE("buckets that are full early are reduced while the last backward runs") {
  // As above, in four buckets of 1 us: three from the start of B, the fourth behind it. B0 of each
  // stage adds none.
  System system = tail_pipeline(4, {.reduces = {true, true}, .early = {true, false}},
                                {.data = 2, .buckets = {4, 1}});
  CHECK(tail_text(simulated(system)) == "1REDUCE1 7-11, 0REDUCE_EARLY1 7-10, 0REDUCE1 10-11");
  // A faster link hides the early ones.
  system.hardware = link(0, 2e6);
  CHECK(tail_text(simulated(system)) == "1REDUCE1 7-9, 0REDUCE_EARLY1 7-8.5, 0REDUCE1 9-9.5");
}

TEST_CASE("an early reduction waits for the gradient that its backward waits for") {
  // A transfer takes 1 us: B1 of stage 0 is free at 8 and starts at 9, when its gradient arrives.
  System system = tail_pipeline(4, {.reduces = {true}, .early = {true}, .updates = true},
                                {.data = 2, .buckets = {2, 1}, .optimizer_us = 1});
  system.hardware = link(1, 1e12);
  const Outcome outcome = simulated(system);
  const TaskId early = task_of(outcome.plan, "0REDUCE_EARLY1");
  const TaskId last = task_of(outcome.plan, "0B1");
  CHECK(outcome.timeline.begin[early] == outcome.timeline.begin[last]);
  CHECK(to_us(outcome.timeline.begin[last]) >
        to_us(outcome.timeline.end[task_of(outcome.plan, "0B0")]));
}

TEST_CASE("sums behind the row of a rank, and in passes, have no early part") {
  for (const Summing summing : {Summing::behind_row, Summing::in_passes}) {
    const Tail tail{.reduces = {true}, .early = {true}, .summing = summing};
    CHECK(!tail.starts_early(0));
  }
}

TEST_CASE("with a split backward the last W makes the gradient complete") {
  System system = tail_pipeline(4, {.reduces = {true}}, {.data = 2});
  system.placement = Placement::loop(1, 1);
  system.stages = {stage_of(1, 1, 1)};
  system.stages[0].parameter_bytes = 4;
  system.schedule = order_of("0F0,0I0,0F1,0I1,0W1,0W0");
  CHECK(tail_text(simulated(system)) == "0REDUCE0 6-10");
}

TEST_CASE("updates wait for the sum and stand at the end of the row as stages finished") {
  // Stages 0 and 1 on one rank, f = 1, b = 2: B1 2-4, B0 4-6. Stage 1 is summed 4-8, stage 0
  // 8-12 on the same link; U takes 3.
  System system =
      tail_pipeline(4, {.reduces = {true, true}, .updates = true}, {.data = 2, .optimizer_us = 3});
  system.placement = Placement::loop(1, 2);
  system.schedule = order_of("0F0,1F0,1B0,0B0");
  CHECK(tail_text(simulated(system)) == "1REDUCE0 4-8, 0REDUCE0 8-12, 1U0 8-11, 0U0 12-15");
}

TEST_CASE("without data replicas an update waits for nothing but its rank") {
  const Outcome outcome = simulated(tail_pipeline(4, {.updates = true}, {.optimizer_us = 3}));
  CHECK(tail_text(outcome) == "0U1 9-12, 1U1 7-10");
}

TEST_CASE("with ZeRO-1 each replica sums and updates its share, and gathers the others'") {
  // Adam's gradients are twice as large as 4 bytes of parameters; of four copies. Reduce-scatter:
  // 3/4 * 8 = 6 us, all-gather: 3/4 * 4 = 3 us.
  const Outcome outcome =
      simulated(tail_pipeline(4, {.reduces = {false, true}, .updates = true, .gathers = true},
                              {.data = 4, .gradient_factor = 2, .zero = 1, .optimizer_us = 1}));
  CHECK(tail_text(outcome) == "1REDUCE1 7-13, 0U1 9-10, 1U1 13-14, 1GATHER1 14-17");
}

TEST_CASE("with ZeRO-2 replicas sum behind each backward, and an update waits for all the sums") {
  // Two copies of 4 bytes: each reduce-scatter 1/2 * 4 = 2 us. Rank 1's stand behind B0 (4) and B1
  // (7), those of rank 0 behind 6 and 9; the gathering of 2 bytes follows the update.
  const Outcome outcome = simulated(tail_pipeline(
      4,
      {.reduces = {true, true}, .updates = true, .gathers = true, .summing = Summing::behind_each},
      {.data = 2, .zero = 2, .optimizer_us = 1}));
  CHECK(tail_text(outcome) ==
        "1REDUCE0 4-6, 1REDUCE1 7-9, 0REDUCE0 6-8, 0REDUCE1 9-11, 0U1 11-12, 0GATHER1 12-14, "
        "1U1 9-10, 1GATHER1 10-12");
  std::string inputs;
  outcome.plan.for_each_input(task_of(outcome.plan, "0U1"), [&](TaskId input) {
    inputs += task_text(outcome.plan, input) + " ";
  });
  CHECK(inputs == "0REDUCE0 0REDUCE1 ");
}

TEST_CASE("with ZeRO-2 the exchange of a tied embedding still follows the last backward alone") {
  // 2 us for each sum, 3 for each tie: rank 1 sums 4-6 and 7-9 and ties 7-10, rank 0 ties 9-12.
  const Outcome outcome = simulated(tail_pipeline(
      4, {.reduces = {true, true}, .updates = true, .summing = Summing::behind_each, .ties = true},
      {.data = 2, .zero = 2, .optimizer_us = 1, .tied_embedding_bytes = 3}));
  CHECK(tail_text(outcome) ==
        "1REDUCE0 4-6, 1REDUCE1 7-9, 1TIE1 7-10, 0REDUCE0 6-8, 0REDUCE1 9-11, 0TIE1 9-12, "
        "0U1 11-12, 1U1 12-13");
}

TEST_CASE("devices of a rank's group that hold the same sum too, experts in a ring of their own") {
  // 4 dense bytes on 2 devices, 4 of experts on 4, one data replica: around the rings go
  // 2 * 1/2 * 4 + 2 * 3/4 * 4 = 10 bytes.
  System system = tail_pipeline(8, {.reduces = {false, true}}, {});
  system.stages[1].expert_parameter_bytes = 4;
  system.stages[1].copies = 2;
  system.stages[1].expert_copies = 4;
  CHECK(tail_text(simulated(system)) == "1REDUCE1 7-17");
  // With 1 us of latency instead: 2 * 1 steps of the first ring, 2 * 3 of the second.
  system.hardware = delay(1);
  CHECK(tail_text(simulated(system)) == "1REDUCE1 8-16");
}

TEST_CASE("a sum takes two latencies a step of the ring, its halves one") {
  // Four copies, latency 1, no bandwidth to wait for: 6 for the sum, 3 for a half.
  System system = tail_pipeline(4, {.reduces = {false, true}}, {.data = 4});
  system.hardware = delay(1);
  // Rank 1 ends one delay later than without: at 8.
  CHECK(tail_text(simulated(system)) == "1REDUCE1 8-14");
  system.training.zero = 1;
  CHECK(tail_text(simulated(system)) == "1REDUCE1 8-11");
}

TEST_CASE("both ends of a chain send each other the gradient of a tied embedding") {
  // 3 bytes: rank 1 sends 7-10, rank 0 9-12, and each updates when the other's has come.
  const Outcome outcome = simulated(tail_pipeline(0, {.updates = true, .ties = true},
                                                  {.optimizer_us = 1, .tied_embedding_bytes = 3}));
  CHECK(tail_text(outcome) == "1TIE1 7-10, 0TIE1 9-12, 0U1 10-11, 1U1 12-13");
}

TEST_CASE("an update that waits for sum and tie lists both") {
  const Plan plan =
      lowered(tail_pipeline(4, {.reduces = {true, true}, .updates = true, .ties = true},
                            {.data = 2, .tied_embedding_bytes = 3}));
  std::string inputs;
  plan.for_each_input(task_of(plan, "0U1"),
                      [&](TaskId input) { inputs += task_text(plan, input) + " "; });
  CHECK(inputs == "1TIE1 0REDUCE1 ");
}

TEST_CASE("ends on one rank share their embedding without a transfer") {
  System system = tail_pipeline(0, {.ties = true}, {.tied_embedding_bytes = 3});
  system.placement = Placement::vee(1, 2);
  system.schedule = order_of("0F0,1F0,1B0,0B0");
  CHECK(tail_text(simulated(system)).empty());
}

TEST_CASE("replicas of an end pair off with those of the other end") {
  // Stage 0 on rank 0, stage 1 on ranks 1 and 2: each of these has rank 0 as its partner.
  System system = tail_pipeline(0, {.ties = true}, {.tied_embedding_bytes = 3});
  system.placement = Placement::given(3, {{Rank{0}}, {Rank{1}, Rank{2}}}, {{Stage{0}, Stage{1}}});
  system.schedule = order_of("0F0,0F1,0B0,0B1\n1F0,1B0\n1F1,1B1");
  const Plan plan = lowered(system);
  std::string ties;
  for (TaskId task = 0; task < plan.tasks(); ++task) {
    if (plan.class_of(task).pass != Pass::tie_gradient) continue;
    const Link& link = plan.link(plan.class_of(task).resource);
    ties += end_text(link.from) + ">" + end_text(link.to) + " ";
  }
  CHECK(ties == "1>0 2>0 0>1 0>2 ");
}

TEST_CASE("an order without backward has no tail") {
  System system = tail_pipeline(4, {.reduces = {true, true}, .updates = true, .ties = true},
                                {.data = 2, .optimizer_us = 1, .tied_embedding_bytes = 3});
  system.schedule = order_of("0F0,0F1\n1F0,1F1");
  CHECK(tail_text(simulated(system)).empty());
}

TEST_CASE("all copies of a model stage sum together: data replicas, replicas, and other chains") {
  // Two chains over two ranks, two data replicas: four copies of each stage, 2 * 3/4 * 4 = 6 us.
  System system = tail_pipeline(4, {.reduces = {true, false}}, {.data = 2});
  system.placement = Placement::bidirectional(2);
  system.schedule = order_of("0F0,3F1,3B1,0B0\n2F1,1F0,1B0,2B1");
  // Rank 0 ends with 0B0 at 6, rank 1 with 2B1 at 6.
  CHECK(tail_text(simulated(system)) == "0REDUCE0 6-12, 2REDUCE1 6-12");
}

TEST_CASE("ranks that hold the same stage update when the parts of all of them have come") {
  // Stage 0 on rank 0, stage 1 with 4 bytes on ranks 1 and 2, no data replicas. F0 0-1, F1 1-2;
  // rank 1 F0 1-2, B0 2-4; rank 2 F1 2-3, B1 3-5. Each part takes 2 * 1/2 * 4 = 4 us; they have all
  // come at 9, and U takes 1.
  System system = tail_pipeline(
      4, {.reduces = {false, true}, .updates = true, .across_ranks = true}, {.optimizer_us = 1});
  system.placement = Placement::given(3, {{Rank{0}}, {Rank{1}, Rank{2}}}, {{Stage{0}, Stage{1}}});
  system.schedule = order_of("0F0,0F1,0B0,0B1\n1F0,1B0\n1F1,1B1");
  const Outcome outcome = simulated(system);
  check_spans(outcome, {"1REDUCE0 4-8", "1REDUCE1 5-9", "1U0 9-10", "1U1 9-10"});
  const TaskId sum = task_of(outcome.plan, "1REDUCE1");
  CHECK(text(outcome.plan.link(outcome.plan.class_of(sum).resource)) == "2>1");
}

TEST_CASE("both loops of the event engine wake a rank whose update waits for a part of another") {
  System system = tail_pipeline(4, {.reduces = {true, true}, .updates = true, .gathers = true},
                                {.data = 2, .zero = 1, .optimizer_us = 1});
  system.placement = Placement::bidirectional(2);
  system.schedule = order_of("0F0,3F1,3B1,0B0\n2F1,1F0,1B0,2B1");
  const Outcome expected = simulated(system);
  for (const bool stepwise : {false, true}) {
    Conditions conditions;
    if (stepwise) conditions.stall_above_bytes = 1'000'000;
    const Timeline timeline = timeline_of(run_events({expected.plan, expected.costs, conditions}));
    CHECK(timeline.end == expected.timeline.end);
  }
}

TEST_CASE("sums that are held back follow the last action of their rank, as ties do") {
  // Stages 0 and 1 on one rank, f = 1, b = 2: 1B0 2-4, 0B0 4-6, then two sums of 4 us on one link,
  // the lower stage first.
  System system = tail_pipeline(4, {.reduces = {true, true}, .summing = Summing::behind_row},
                                {.data = 2, .tied_embedding_bytes = 3});
  system.extras.tail.ties = true;
  System chunks = system;
  chunks.placement = Placement::loop(1, 2);
  chunks.schedule = order_of("0F0,1F0,1B0,0B0");
  CHECK(tail_text(simulated(chunks)) == "0REDUCE0 6-10, 1REDUCE0 10-14");
  // On two ranks: rank 1 is done at 7, rank 0 at 9, and a tie takes 3 us.
  CHECK(tail_text(simulated(system)) == "0REDUCE1 9-13, 0TIE1 9-12, 1REDUCE1 7-11, 1TIE1 7-10");
  // Otherwise the sum of stage 1 runs beside the backward of stage 0.
  chunks.extras.tail.summing = Summing::behind_stage;
  CHECK(tail_text(simulated(chunks)) == "1REDUCE0 4-8, 0REDUCE0 8-12");
}

TEST_CASE("waits for each other's sums are counted before they are listed") {
  // 4,000 replicas of one stage: each of as many updates would list as many sums.
  std::vector<Rank> ranks;
  std::string rows;
  for (std::uint32_t r = 0; r < 4000; ++r) {
    ranks.push_back(Rank{r});
    rows += "0F" + std::to_string(r) + ",0B" + std::to_string(r) + "\n";
  }
  System system = tail_pipeline(4, {.reduces = {true}, .updates = true, .across_ranks = true}, {});
  system.placement = Placement::given(4000, {ranks}, {{Stage{0}}});
  system.schedule = order_of(rows);
  CHECK_THROWS_WITH_AS(lowered(system), doctest::Contains("would wait 16000000 times"), InputError);
}

}  // namespace penstock::testing
