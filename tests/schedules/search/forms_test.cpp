#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <vector>

#include "schedules/search/form_choice.hpp"
#include "schedules/search/list_scheduling.hpp"
#include "schedules/search/order_problem.hpp"
#include "schedules/search/order_search.hpp"
#include "schedules/search/sequences.hpp"
#include "tests/support/searched_pipelines.hpp"

namespace penstock::testing {
namespace {

bool fits_with_choice(const OrderProblem& problem, const RankSequences& sequences,
                      const ActivationForms& recomputed) {
  for (std::uint32_t rank = 0; rank < problem.ranks(); ++rank) {
    if (first_overflow(problem, rank, sequences[rank], recomputed)) return false;
  }
  return true;
}

/// Every order of one rank with one stage and two microbatches.
std::vector<std::vector<CellClass>> orders_of_two(std::uint32_t stage) {
  std::vector<CellClass> order;
  for (const std::uint32_t pass : {0U, 0U, 1U, 1U, 2U, 2U})
    order.push_back(cell_class(stage, pass));
  std::vector<std::vector<CellClass>> all;
  do {
    std::array<int, 3> done{};
    const bool legal = std::all_of(order.begin(), order.end(), [&](CellClass cell) {
      const std::uint32_t pass = cell % SearchPass::count;
      return pass == 0 ? ++done[0] > 0 : ++done[pass] <= done[pass - 1];
    });
    if (legal) all.push_back(order);
  } while (std::next_permutation(order.begin(), order.end()));
  return all;
}

/// The shortest of all orders and choices of two ranks and two microbatches.
SearchTime shortest_choice(const OrderProblem& problem) {
  SearchTime shortest = never;
  SequenceTimes times(problem);
  for (std::uint32_t choice = 0; choice < 16; ++choice) {
    ActivationForms recomputed;
    for (std::uint32_t n = 0; n < 4; ++n) recomputed.push_back(choice >> n & 1U);
    times.set_forms(recomputed);
    for (const auto& one : orders_of_two(0)) {
      for (const auto& two : orders_of_two(1)) {
        const RankSequences sequences{one, two};
        if (!fits_with_choice(problem, sequences, recomputed) || !times.run(sequences)) continue;
        shortest = std::min(shortest, times.makespan());
      }
    }
  }
  return shortest;
}

Pipeline four_ranks(std::int64_t capacity) {
  return pipeline_with_choice(Placement::loop(4, 1), 8, {{10, 10, 10}}, 10, 10, capacity);
}

}  // namespace

TEST_CASE("an order that recomputes some activations has the engine's time and memory") {
  CHECK(rc::check([] {
    const auto ranks = *rc::gen::inRange<std::uint32_t>(1, 4);
    const auto time = rc::gen::inRange(1, 9);
    const Pipeline made = pipeline_with_choice(
        Placement::vee(ranks, 2), *rc::gen::inRange<std::uint32_t>(1, 6),
        {{*time, *time, *time}, {*time, *time, *time}}, *time, *rc::gen::inRange(2, 6), 12);
    const OrderProblem nothing_recomputed = with_form(made.problem, 0);
    ListScheduler scheduler(nothing_recomputed);
    RC_PRE(scheduler.run(drawn_keys(made.problem), {}));
    ActivationForms recomputed(made.problem.stages.size() * made.problem.microbatches);
    for (auto& flag : recomputed) flag = *rc::gen::arbitrary<bool>() ? 1 : 0;
    SequenceTimes times(made.problem);
    times.set_forms(recomputed);
    RC_ASSERT(times.run(scheduler.sequences()));
    const Report report = report_of_engine(made, scheduler.sequences(), recomputed);
    RC_ASSERT(times.makespan() == report.makespan.picoseconds);
    for (std::uint32_t rank = 0; rank < ranks; ++rank) {
      OrderProblem tight = made.problem;
      tight.capacity[rank] = static_cast<std::int64_t>(report.ranks[rank].memory.bytes);
      const auto& sequence = scheduler.sequences()[rank];
      RC_ASSERT(!first_overflow(tight, rank, sequence, recomputed));
      --tight.capacity[rank];
      RC_ASSERT(first_overflow(tight, rank, sequence, recomputed).has_value());
    }
  }));
}

TEST_CASE("recomputation makes an order fit if everything recomputed does, and no more than that") {
  // F F F I W I W I W of activations of 10 bytes, of which 1 stays, in 21 bytes: one is kept, two
  // are recomputed, of which one is back at a time.
  OrderProblem problem =
      pipeline_with_choice(Placement::loop(1, 1), 3, {{1, 1, 1}}, 1, 10, 21).problem;
  const std::vector<CellClass> sequence{0, 0, 0, 1, 2, 1, 2, 1, 2};
  ActivationForms recomputed(3, 0);
  REQUIRE(recompute_to_fit(problem, 0, sequence, recomputed));
  CHECK(recomputed == ActivationForms{0, 0, 1});  // 10 + 10 + 1, and the last is restored alone
  problem.capacity = {11};
  recomputed.assign(3, 0);
  CHECK(!recompute_to_fit(problem, 0, sequence, recomputed));
  problem.capacity = {12};  // 1 + 1 + 10
  recomputed.assign(3, 0);
  CHECK(recompute_to_fit(problem, 0, sequence, recomputed));
  CHECK(std::accumulate(recomputed.begin(), recomputed.end(), 0) == 2);
}

TEST_CASE("search recomputes some activations where that is shorter than all of them, or none") {
  // Room for two whole activations and some inputs; four in flight keep four ranks busy.
  const Pipeline made = four_ranks(24);
  const FoundOrder none = search_order(with_form(made.problem, 0), evaluations(3000));
  const FoundOrder all = search_order(with_form(made.problem, recomputed_form), evaluations(3000));
  const FoundOrder some = search_order(made.problem, evaluations(9000));
  REQUIRE(some.sequences.has_value());
  CHECK(some.state.best < std::min(none.state.best, all.state.best));
  CHECK(some.state.bound <= some.state.best);
  CHECK(fits_with_choice(made.problem, *some.sequences, some.forms));
  const auto count = std::accumulate(some.forms.begin(), some.forms.end(), 0);
  CHECK(count > 0);
  CHECK(count < 32);
  const Report report = report_of_engine(made, *some.sequences, some.forms);
  CHECK(report.makespan.picoseconds == some.state.best);
  for (const RankReport& rank : report.ranks) CHECK(rank.memory.bytes <= 24);
}

TEST_CASE("search recomputes nothing where everything fits") {
  const Pipeline made = four_ranks(1000);
  const FoundOrder some = search_order(made.problem, evaluations(9000));
  CHECK(some.proven);
  CHECK(some.state.best == (30 + 8 * 30) * one_us);
  CHECK(std::accumulate(some.forms.begin(), some.forms.end(), 0) == 0);
}

TEST_CASE("search finds the shortest of all orders and choices of two ranks and two microbatches") {
  for (const std::int64_t capacity : {6, 7, 9, 11}) {
    for (const int again_us : {1, 4}) {
      CAPTURE(capacity);
      CAPTURE(again_us);
      const Pipeline made = pipeline_with_choice(Placement::loop(2, 1), 2, {{3, 2, 2}, {1, 4, 1}},
                                                 again_us, 5, capacity);
      const SearchTime shortest = shortest_choice(made.problem);
      const FoundOrder found = search_order(made.problem, evaluations(4000));
      CHECK(found.state.best == shortest);
      CHECK(shortest_possible(with_least_costs(made.problem)) <= shortest);
    }
  }
}

}  // namespace penstock::testing
