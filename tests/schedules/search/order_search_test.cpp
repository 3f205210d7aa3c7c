#include "schedules/search/order_search.hpp"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <array>
#include <vector>

#include "schedules/search/exhaustive.hpp"
#include "schedules/search/form_choice.hpp"
#include "schedules/search/list_scheduling.hpp"
#include "schedules/search/order_problem.hpp"
#include "schedules/search/sequences.hpp"
#include "tests/support/searched_pipelines.hpp"

namespace penstock::testing {
namespace {

/// A cell of an order that names its microbatch: for orders that run them in any sequence.
struct NamedCell {
  std::uint32_t stage, pass, microbatch;
  ActivationForm form = 0;
};

/// Every order of one rank that fits: all sequences with F before I before W, or F before B, of
/// each microbatch.
void add_orders(const OrderProblem& problem, std::uint32_t stage, std::int64_t held,
                std::vector<std::uint32_t>& done, std::vector<NamedCell>& order,
                std::vector<std::vector<NamedCell>>& all) {
  const OrderStage& own = problem.stages[stage];
  bool ended = true;
  const auto add = [&](std::uint32_t m, ActivationForm form) {
    const std::uint32_t pass = done[m], after = form == 0 ? pass + 1 : SearchPass::count;
    const FormCosts costs = own.costs(form);
    if (held + costs.during[pass] > problem.capacity[own.rank]) return;
    order.push_back({stage, pass, m, form});
    done[m] = after;
    add_orders(problem, stage, held + costs.change[pass], done, order, all);
    done[m] = pass;
    order.pop_back();
  };
  for (std::uint32_t m = 0; m < done.size(); ++m) {
    if (done[m] == SearchPass::count) continue;
    ended = false;
    add(m, 0);
    if (done[m] == SearchPass::input && own.whole) add(m, whole_form);
  }
  if (ended) all.push_back(order);
}

SearchTime makespan_of_cells(const OrderProblem& problem,
                             const std::vector<const std::vector<NamedCell>*>& rows) {
  std::vector<SearchTime> end(problem.cells(), never), free(problem.ranks(), 0);
  std::vector<std::size_t> at(problem.ranks(), 0);
  const auto end_of = [&](std::uint32_t s, std::uint32_t pass, std::uint32_t m) -> SearchTime& {
    return end[cell_class(s, pass) * problem.microbatches + m];
  };
  for (bool moved = true; moved;) {
    moved = false;
    for (std::uint32_t r = 0; r < problem.ranks(); ++r) {
      for (; at[r] < rows[r]->size(); ++at[r]) {
        const auto [s, pass, m, form] = (*rows[r])[at[r]];
        SearchTime ready = 0;
        if (pass == SearchPass::forward && s > 0) {
          const SearchTime before = end_of(s - 1, pass, m);
          ready = before == never ? never : before + problem.stages[s - 1].to_after;
        } else if (pass == SearchPass::input && s + 1 < problem.stage_count()) {
          const SearchTime after = end_of(s + 1, pass, m);
          ready = after == never ? never : after + problem.stages[s + 1].to_before;
        }
        if (ready == never) break;
        free[r] = std::max(free[r], ready) + problem.stages[s].costs(form).duration[pass];
        end_of(s, pass, m) = free[r];
        moved = true;
      }
    }
  }
  for (std::uint32_t r = 0; r < problem.ranks(); ++r) {
    if (at[r] < rows[r]->size()) return never;
  }
  SearchTime makespan = 0;
  for (std::uint32_t r = 0; r < problem.ranks(); ++r) {
    const NamedCell& last = rows[r]->back();
    const SearchTime tail = problem.stages[last.stage].costs(last.form).tail.whole;
    makespan = std::max(makespan, free[r] + std::max(tail, problem.update(r)));
  }
  return makespan;
}

/// The shortest makespan of all orders of a pipeline with one stage per rank.
SearchTime shortest_of_all(const OrderProblem& problem) {
  std::vector<std::vector<std::vector<NamedCell>>> orders(problem.ranks());
  for (std::uint32_t r = 0; r < problem.ranks(); ++r) {
    std::vector<std::uint32_t> done(problem.microbatches, 0);
    std::vector<NamedCell> order;
    add_orders(problem, r, 0, done, order, orders[r]);
  }
  SearchTime shortest = never;
  std::vector<std::size_t> choice(problem.ranks(), 0);
  for (;;) {
    std::vector<const std::vector<NamedCell>*> rows;
    for (std::uint32_t r = 0; r < problem.ranks(); ++r) rows.push_back(&orders[r][choice[r]]);
    shortest = std::min(shortest, makespan_of_cells(problem, rows));
    std::uint32_t r = 0;
    while (r < problem.ranks() && ++choice[r] == orders[r].size()) choice[r++] = 0;
    if (r == problem.ranks()) return shortest;
  }
}

}  // namespace

TEST_CASE("list scheduling fits the memory and has the engine's makespan, whatever the keys") {
  CHECK(rc::check([] {
    const Pipeline made = drawn_pipeline();
    ListScheduler scheduler(made.problem);
    const auto keys = drawn_keys(made.problem);
    RC_ASSERT(scheduler.run(keys, {}));
    RC_ASSERT(all_fit(made.problem, scheduler.sequences()));
    RC_ASSERT(scheduler.makespan() == makespan_by_engine(made, scheduler.sequences()));
  }));
}

TEST_CASE("sequences have the engine's makespan, and no pass can start after its latest start") {
  CHECK(rc::check([] {
    const Pipeline made = drawn_pipeline();
    ListScheduler scheduler(made.problem);
    const auto rule = ListRule{.window = *rc::gen::inRange(2U, 9U),
                               .wait = *rc::gen::inRange(0, 4) * one_us,
                               .fill = *rc::gen::inRange(0, 3) / 2.0};
    if (!scheduler.run(drawn_keys(made.problem), rule)) return;
    SequenceTimes times(made.problem);
    RC_ASSERT(times.run(scheduler.sequences()));
    RC_ASSERT(times.makespan() == makespan_by_engine(made, scheduler.sequences()));
    RC_ASSERT(times.makespan() <= scheduler.makespan());
    RC_ASSERT(!times.run(scheduler.sequences(), times.makespan() - 1));
    RC_ASSERT(times.run(scheduler.sequences()));
    times.find_latest();
    for (std::size_t n = 0; n < times.starts().size(); ++n) {
      RC_ASSERT(times.starts()[n] <= times.latest()[n]);
    }
  }));
}

TEST_CASE("the bound is below every order found, and what is found fits the memory") {
  CHECK(rc::check([] {
    const Pipeline made = drawn_pipeline();
    const FoundOrder found = search_order(made.problem, evaluations(300));
    RC_ASSERT(found.sequences.has_value());
    RC_ASSERT(all_fit(made.problem, *found.sequences));
    RC_ASSERT(found.state.best == makespan_by_engine(made, *found.sequences));
    RC_ASSERT(shortest_possible(made.problem) <= found.state.best);
    RC_ASSERT(found.proven == (found.state.best <= found.state.bound));
  }));
}

TEST_CASE("branch and bound finds the shortest of all orders, in any sequence of microbatches") {
  struct Small {
    std::uint32_t ranks, microbatches;
    std::int64_t capacity;
    int transfer_us;
    std::vector<std::array<int, 3>> times_us;
  };
  for (const Small& small : std::vector<Small>{{2, 2, 2, 0, {{1, 1, 1}}},
                                               {2, 2, 1, 1, {{2, 3, 1}, {1, 2, 4}}},
                                               {2, 3, 2, 1, {{3, 2, 2}, {1, 4, 1}}},
                                               {3, 2, 2, 0, {{2, 1, 3}, {4, 1, 1}, {1, 2, 2}}},
                                               {3, 2, 1, 2, {{1, 1, 1}}}}) {
    CAPTURE(small.ranks);
    CAPTURE(small.microbatches);
    CAPTURE(small.capacity);
    // Of 3 microbatches on 2 ranks there are 1680 x 1680 orders: too many to time all of them here.
    if (small.ranks == 2 && small.microbatches == 3) continue;
    const Pipeline made = pipeline(Placement::loop(small.ranks, 1), small.microbatches,
                                   small.times_us, small.transfer_us, small.capacity);
    const SearchTime shortest = shortest_of_all(made.problem);
    const ExhaustiveResult found = branch_and_bound(made.problem, {});
    REQUIRE(found.complete);
    REQUIRE(found.better.has_value());
    CHECK(found.makespan == shortest);
    CHECK(makespan_by_engine(made, found.better->sequences) == shortest);
    CHECK(shortest_possible(made.problem) <= shortest);
    const ExhaustiveResult none = branch_and_bound(made.problem, {.below = shortest});
    CHECK(none.complete);
    CHECK(!none.better.has_value());
    const FoundOrder searched = search_order(made.problem, evaluations(2000));
    CHECK(searched.state.best == shortest);
    CHECK(searched.proven);
  }
}

TEST_CASE("search proves the shortest of all orders, each backward as B or as I and W") {
  CHECK(rc::check([] {
    const auto ranks = *rc::gen::inRange<std::uint32_t>(2, 4);
    const auto microbatches = *rc::gen::inRange<std::uint32_t>(1, ranks == 2 ? 3 : 2);
    const auto time = rc::gen::inRange(1, 9);
    std::vector<std::array<int, 3>> times;
    for (std::uint32_t s = 0; s < ranks; ++s) times.push_back({*time, *time, *time});
    Pipeline made = pipeline(Placement::loop(ranks, 1), microbatches, times,
                             *rc::gen::inRange(0, 4), *rc::gen::inRange(1, 3));
    for (OrderStage& stage : made.problem.stages) {
      const auto& [forward, input, weight] = stage.duration;
      const int us = static_cast<int>((input + weight) / one_us);
      const SearchTime backward = *rc::gen::inRange(1, us + 1) * one_us;
      const SearchTime tail = stage.tail.whole = *rc::gen::inRange(0, 12) * one_us;
      const SearchTime tail_of_whole = *rc::gen::inRange<SearchTime>(0, tail + 1);
      if (backward < input + weight || tail_of_whole < tail) {
        stage.whole =
            FormCosts{{forward, backward, 0}, {1, 0, 0}, {1, -1, 0}, {.whole = tail_of_whole}};
      }
      made.problem.updates.push_back(*rc::gen::inRange(0, 5) * one_us);
    }
    const SearchTime shortest = shortest_of_all(made.problem);
    const FoundOrder found = search_order(made.problem, evaluations(4000));
    RC_ASSERT(found.state.best == shortest);
    RC_ASSERT(found.proven);
    RC_ASSERT(shortest_possible(with_least_costs(made.problem)) <= shortest);
    SequenceTimes times_found(made.problem);
    times_found.set_forms(found.forms);
    RC_ASSERT(times_found.run(*found.sequences));
    RC_ASSERT(times_found.makespan() == shortest);
    // The same where every order is asked for its makespan.
    const auto judge = [&](const SearchedOrder& order) {
      times_found.set_forms(order.forms);
      RC_ASSERT(times_found.run(order.sequences));
      return times_found.makespan();
    };
    const ExhaustiveResult judged = branch_and_bound(made.problem, {.judge = judge});
    RC_ASSERT(judged.complete && judged.makespan == shortest);
  }));
}

TEST_CASE("a search without a proof uses its budget to the end") {
  // As many microbatches as no branch and bound gets to the end of, and unequal stages.
  const Pipeline made = pipeline(Placement::loop(4, 1), 12,
                                 {{10, 14, 6}, {9, 12, 9}, {11, 8, 12}, {10, 10, 10}}, 3, 4);
  const FoundOrder found = search_order(made.problem, evaluations(3000));
  CHECK(!found.proven);
  CHECK(found.state.evaluations == 3000);
}

TEST_CASE("a search depends on seed and evaluations alone") {
  const Pipeline made = pipeline(Placement::vee(4, 2), 7, {{10, 14, 6}}, 1, 5);
  const FoundOrder one = search_order(made.problem, evaluations(3000, 7));
  const FoundOrder same = search_order(made.problem, evaluations(3000, 7));
  CHECK(one.sequences == same.sequences);
  CHECK(one.state.evaluations == same.state.evaluations);
  CHECK(one.state.evaluations <= 3000);
}

TEST_CASE("equal stages without transfers: the bound of zero bubble is reached and proven") {
  // F, I and W of 1 us on 4 ranks: the last rank starts after 3 us and then works 3 us a
  // microbatch without a gap.
  const Pipeline made = pipeline(Placement::loop(4, 1), 12, {{1, 1, 1}}, 0, 4);
  const FoundOrder found = search_order(made.problem, evaluations(5000));
  CHECK(found.proven);
  CHECK(found.state.best == (3 + 36) * one_us);
}

TEST_CASE("nothing fits a rank without room for one activation of each of its stages") {
  const Pipeline made = pipeline(Placement::vee(2, 2), 2, {{1, 1, 1}}, 0, 0);
  const FoundOrder found = search_order(made.problem, evaluations(100));
  CHECK(!found.sequences.has_value());
  CHECK(!found.proven);
}

TEST_CASE("a lengthened order runs the repeated microbatch once a period") {
  OrderProblem few = pipeline(Placement::loop(1, 1), 2, {{1, 2, 3}}, 0, 9).problem;
  const std::vector<SearchTime> starts{0, 6, 1, 7, 3, 9};  // F, I, W of two microbatches
  const auto longer = lengthened_starts(few, starts, 4, 0);
  const SearchTime period = 6 * one_us;
  CHECK(longer == std::vector<SearchTime>{0, period, 2 * period, 2 * period + 6, 1, 1 + period,
                                          1 + 2 * period, 2 * period + 7, 3, 3 + period,
                                          3 + 2 * period, 2 * period + 9});
}

}  // namespace penstock::testing
