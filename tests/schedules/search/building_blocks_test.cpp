#include "schedules/search/building_blocks.hpp"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <algorithm>

#include "schedules/search/sequences.hpp"
#include "tests/support/searched_pipelines.hpp"

namespace penstock::testing {
namespace {

RankSequences in_reverse(RankSequences sequences) {
  for (auto& sequence : sequences) std::reverse(sequence.begin(), sequence.end());
  return sequences;
}

SearchTime makespan_of(const OrderProblem& problem, const RankSequences& sequences) {
  SequenceTimes times(problem);
  REQUIRE(times.run(sequences));
  return times.makespan();
}

}  // namespace

TEST_CASE("gaps filled: the order fits the memory and has the engine's makespan") {
  CHECK(rc::check([] {
    const Pipeline made = drawn_pipeline();
    const RankSequences drawn = sequences_of_starts(made.problem, drawn_keys(made.problem));
    const FillRule rule{.fill = *rc::gen::inRange(0, 3) / 2.0,
                        .early_tail = *rc::gen::arbitrary<bool>()};
    GapFiller filler(made.problem);
    if (!filler.run(drawn, rule)) return;
    RC_ASSERT(all_fit(made.problem, filler.sequences()));
    RC_ASSERT(filler.makespan() == makespan_by_engine(made, filler.sequences()));
    RC_ASSERT(!filler.run(drawn, rule, filler.makespan() - 1));
  }));
}

TEST_CASE("gaps filled backwards: the order reversed fits the memory and is as short") {
  CHECK(rc::check([] {
    const Pipeline made = drawn_pipeline();
    GapFiller forwards(made.problem);
    GapFiller backwards(made.problem, TimeDirection::backwards);
    if (!forwards.run(sequences_of_starts(made.problem, drawn_keys(made.problem)), {})) return;
    if (!backwards.run(in_reverse(forwards.sequences()), {})) return;
    const RankSequences found = in_reverse(backwards.sequences());
    RC_ASSERT(all_fit(made.problem, found));
    RC_ASSERT(makespan_by_engine(made, found) == backwards.makespan());
  }));
}

TEST_CASE("a later pass runs in a gap, unless a pass that it overtakes then finds no room") {
  // Two ranks, F I W of 1 us each, as 1F1B with W behind I. Rank 0 waits from 2 to 3 for I0.
  const RankSequences given{{0, 0, 1, 2, 0, 1, 2, 1, 2}, {3, 4, 5, 3, 4, 5, 3, 4, 5}};
  const auto third_forward_us = [&](std::int64_t capacity) {
    const Pipeline made = pipeline(Placement::loop(2, 1), 3, {{1, 1, 1}}, 0, capacity);
    GapFiller filler(made.problem);
    REQUIRE(filler.run(given, {.fill = 1}));
    return filler.starts()[2] / one_us;
  };
  CHECK(third_forward_us(3) == 2);
  CHECK(third_forward_us(2) == 5);
}

TEST_CASE("building blocks fit the memory and repeat once in the work of a microbatch") {
  for (const std::uint32_t ranks : {2U, 3U, 5U}) {
    for (const std::int64_t capacity : {3, 5, 8}) {
      CAPTURE(ranks);
      CAPTURE(capacity);
      Pipeline made = pipeline(Placement::vee(ranks, 2), 3 * ranks, {{1, 1, 1}}, 0, capacity);
      OrderProblem longer = made.problem;
      longer.microbatches *= 2;
      const auto blocks = building_blocks(made.problem);
      // Six activations a rank are the least for 5 ranks, four for 2 and 3.
      CHECK(blocks.empty() == (capacity < (ranks == 5 ? 6 : 4)));
      for (const BuildingBlock& block : blocks) {
        const RankSequences once = sequences_of_block(made.problem, block);
        const RankSequences twice = sequences_of_block(longer, block);
        REQUIRE(all_fit(made.problem, once));
        // Six passes of 1 us a microbatch, and no idle time between repetitions.
        REQUIRE(makespan_of(longer, twice) - makespan_of(made.problem, once) ==
                SearchTime{6} * made.problem.microbatches * one_us);
      }
    }
  }
  CHECK(building_blocks(pipeline(Placement::loop(4, 2), 8, {{1, 1, 1}}, 0, 9).problem).empty());
}

TEST_CASE("a V within half the memory of zero bubble is as short as published searches find it") {
  // F = I = W = 10; makespans of the building-block search of zero-bubble-pipeline-parallelism.
  struct Recorded {
    std::uint32_t ranks, microbatches;
    std::int64_t capacity;
    SearchTime makespan_us;
  };
  for (const auto& [ranks, microbatches, capacity, makespan_us] :
       {Recorded{6, 12, 9, 800}, Recorded{8, 16, 8, 1190}}) {
    CAPTURE(ranks);
    const Pipeline made =
        pipeline(Placement::vee(ranks, 2), microbatches, {{10, 10, 10}}, 0, capacity);
    CHECK(search_order(made.problem, evaluations(300)).state.best <= makespan_us * one_us);
  }
}

}  // namespace penstock::testing
