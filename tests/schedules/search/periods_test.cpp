#include "schedules/search/periods.hpp"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "schedules/search/order_search.hpp"
#include "schedules/search/sequences.hpp"
#include "tests/support/searched_pipelines.hpp"

namespace penstock::testing {
namespace {

constexpr std::uint32_t steps = 60;

/// By rank: begins and ends of its passes.
std::vector<std::vector<std::pair<SearchTime, SearchTime>>> spans_by_rank(
    const OrderProblem& problem, const std::vector<SearchTime>& starts) {
  std::vector<std::vector<std::pair<SearchTime, SearchTime>>> spans(problem.ranks());
  for (std::size_t n = 0; n < starts.size(); ++n) {
    const auto cell = static_cast<CellClass>(n / problem.microbatches);
    const OrderStage& stage = problem.stages[cell / SearchPass::count];
    spans[stage.rank].emplace_back(starts[n], starts[n] + stage.duration[cell % SearchPass::count]);
  }
  for (auto& of_rank : spans) std::sort(of_rank.begin(), of_rank.end());
  return spans;
}

}  // namespace

TEST_CASE("a period repeated: no passes of a rank meet, and sequences run no later than it says") {
  CHECK(rc::check([] {
    const Pipeline made = drawn_pipeline();
    PeriodFinder finder(made.problem);
    Draws draws(*rc::gen::inRange<std::uint64_t>(1, 100));
    const SearchTime length = finder.shortest() * *rc::gen::inRange(10, 20) / 10 + 1;
    const Period period = finder.find(length, steps, draws);
    if (period.start.empty()) return;
    const auto starts = repeated_starts(period, made.problem.microbatches);
    for (const auto& spans : spans_by_rank(made.problem, starts)) {
      for (std::size_t n = 1; n < spans.size(); ++n) {
        RC_ASSERT(spans[n].first >= spans[n - 1].second);
      }
    }
    const RankSequences sequences = sequences_of_starts(made.problem, starts);
    SequenceTimes times(made.problem);
    RC_ASSERT(times.run(sequences));
    for (std::size_t n = 0; n < starts.size(); ++n) RC_ASSERT(times.starts()[n] <= starts[n]);
    if (period.overflow == 0) RC_ASSERT(all_fit(made.problem, sequences));
  }));
}

TEST_CASE("a period says how many bytes it needs too many") {
  // Three ranks without transfers, F I W of 1 us: rank 0 holds its activation from 0 to 6 us, and
  // the next one comes after 3 us.
  const auto overflow = [](std::int64_t capacity) {
    const Pipeline made = pipeline(Placement::loop(3, 1), 6, {{1, 1, 1}}, 0, capacity);
    Draws draws(1);
    return PeriodFinder(made.problem).find(3 * one_us, 1, draws).overflow;
  };
  CHECK(overflow(3) == 0);
  CHECK(overflow(2) == 1);
}

TEST_CASE("a line in tight memory is within 1.25 % of its bound at 16 ranks and 64 microbatches") {
  // F, I and W of 70B on 16 stages of H100, the head at the last stage; room for 14 activations.
  const Pipeline made = pipeline(Placement::loop(16, 1), 64,
                                 {{17, 19, 16},
                                  {17, 19, 16},
                                  {17, 19, 15},
                                  {21, 23, 19},
                                  {17, 19, 15},
                                  {17, 19, 15},
                                  {21, 23, 19},
                                  {17, 19, 15},
                                  {17, 19, 15},
                                  {21, 23, 19},
                                  {17, 19, 15},
                                  {17, 19, 15},
                                  {21, 23, 19},
                                  {17, 19, 15},
                                  {17, 19, 15},
                                  {15, 16, 13}},
                                 1, 14);
  const FoundOrder found = search_order(made.problem, evaluations(20000));
  REQUIRE(found.sequences);
  CHECK(static_cast<double>(found.state.best) <= 1.0125 * static_cast<double>(found.state.bound));
}

}  // namespace penstock::testing
