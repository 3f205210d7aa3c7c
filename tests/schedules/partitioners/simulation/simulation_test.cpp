#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <algorithm>

#include "schedules/partitioners/registry.hpp"
#include "schedules/partitioners/simulation/cut_search.hpp"
#include "schedules/registry.hpp"
#include "sim/base/error.hpp"
#include "sim/base/named.hpp"
#include "tests/support/cut_problems.hpp"
#include "tests/support/draws.hpp"

namespace penstock {
namespace {

using testing::any_problem;
using testing::below;
using testing::for_each_cut;
using testing::from_to;
using testing::one_in;
using Cuts = std::vector<std::uint32_t>;

CutProblem drawn_pipeline() {
  CutProblem problem = any_problem(9);
  problem.stages = problem.ranks = from_to(1, std::min(problem.size(), 5U));
  problem.microbatches = from_to(1, 7);
  problem.transfers = one_in(3) ? CutTransfers::none : CutTransfers::overlap;
  problem.bandwidth_bytes_per_s = 512.0 * from_to(1, 6);
  if (one_in(3)) problem.latency_s = below(4) / 1024.0;
  for (std::uint32_t rank = 0; one_in(2) && rank < problem.ranks; ++rank) {
    problem.slowness.resize(problem.ranks, 1);
    problem.slowness[rank] = one_in(4) ? 1000.1 : from_to(1, 8) / 4.0;
  }
  for (std::uint32_t rank = 1; one_in(2) && rank < problem.ranks; ++rank) {
    problem.links.push_back({Rank{rank - 1}, Rank{rank}, below(4) / 1024.0, 512.0 * from_to(1, 6)});
    problem.links.push_back({Rank{rank}, Rank{rank - 1}, below(4) / 1024.0, {}});
  }
  return problem;
}

/// What the bounds say of cuts, from the front.
double greatest_bound(const StepBounds& bounds, const Cuts& cuts) {
  double greatest = 0;
  double sent = 0;
  for (std::uint32_t s = 0; s + 1 < cuts.size(); ++s) {
    const StepBounds::Known known{s, cuts[s], cuts[s + 1], sent};
    greatest =
        std::max({greatest, bounds.of_rank(known), bounds.of_rest(known), bounds.of_path(known)});
    if (s + 2 < cuts.size()) sent += bounds.sent_at(cuts[s + 1]);
  }
  return greatest;
}

}  // namespace

TEST_CASE("the closed walk of 1F1B takes as long as the engine, and no bound is longer") {
  CHECK(rc::check([] {
    const CutProblem problem = drawn_pipeline();
    const CutChain chain = chain_of(problem);
    const StageTimes times(problem, chain);
    EngineTimes engine(problem, times, problem.stages);
    OneFOneBTimes walk(times, problem.stages, problem.microbatches);
    const StepBounds bounds(times, problem.stages, problem.microbatches);
    for_each_cut(problem.size(), problem.stages, problem.stages, [&](const Cuts& cuts) {
      const Time time = engine(cuts);
      RC_ASSERT(walk(cuts) == time);
      RC_ASSERT(greatest_bound(bounds, cuts) <= double(time.picoseconds));
    });
  }));
}

TEST_CASE("simulated is the fastest of all cuts by the engine, the first of equals") {
  CHECK(rc::check([] {
    CutProblem problem = drawn_pipeline();
    const CutChain chain = chain_of(problem);
    const StageTimes times(problem, chain);
    EngineTimes engine(problem, times, problem.stages);
    Time least = max_time;
    Cuts first;
    for_each_cut(problem.size(), problem.stages, problem.stages, [&](const Cuts& cuts) {
      const Time time = engine(cuts);
      if (time > least || (time == least && cuts >= first)) return;
      least = time;
      first = cuts;
    });
    const Cut cut = find_named(partitioner_entries(), "simulated")->cut(problem);
    RC_ASSERT(cut.value == to_us(least) / 1e6);
    RC_ASSERT(cut.cuts == first);
  }));
}

TEST_CASE("simulated takes the order that it is given") {
  // 4 layers of 1 and 2 ms on two ranks with two chunks: interleaved 1F1B, split backward.
  CutProblem problem;
  problem.layers.assign(8,
                        {.forward_s = 1e-3, .backward_s = 2e-3, .input_s = 1e-3, .weight_s = 1e-3});
  problem.layers[5].forward_s = 4e-3;
  for (std::uint32_t i = 1; i < 8; ++i) problem.edges.emplace_back(i - 1, i);
  problem.stages = problem.ranks = 4;
  problem.microbatches = 6;
  const PartitionerEntry& simulated = *find_named(partitioner_entries(), "simulated");
  const double plain = simulated.cut(problem).value;
  const ScheduleEntry& rule = *find_named(schedule_entries(), "zb-h1");
  const Placement placement = rule.place(4, 1);
  const Schedule schedule = make_schedule(rule, placement, {6, {}});
  problem.schedule = &schedule;
  problem.placement = &placement;
  const Cut cut = simulated.cut(problem);
  CHECK(cut.value < plain);
  const CutChain chain = chain_of(problem);
  const StageTimes times(problem, chain);
  EngineTimes engine(problem, times, 4);
  for_each_cut(8, 4, 4, [&](const Cuts& cuts) { CHECK(to_us(engine(cuts)) / 1e6 >= cut.value); });
}

TEST_CASE("simulated refuses times that the clock cannot hold") {
  CutProblem problem;
  problem.layers.assign(4, {.forward_s = 1e6});
  for (std::uint32_t i = 1; i < 4; ++i) problem.edges.emplace_back(i - 1, i);
  problem.stages = problem.ranks = 2;
  problem.microbatches = 6;
  const PartitionerEntry& simulated = *find_named(partitioner_entries(), "simulated");
  CHECK_THROWS_WITH_AS(
      simulated.cut(problem),
      "the times of all actions add up to more than 104 days, the range of the clock", InputError);
}

TEST_CASE("local search finds a cut as good as the best of all where all can be tried") {
  CutProblem problem;
  for (std::uint32_t i = 0; i < 40; ++i) {
    problem.layers.push_back({.forward_s = (1 + i * 7 % 5) * 1e-3,
                              .backward_s = (2 + i * 11 % 7) * 1e-3,
                              .output_bytes = 1e6 * (1 + i * 3 % 4)});
    if (i > 0) problem.edges.emplace_back(i - 1, i);
  }
  problem.stages = problem.ranks = 4;
  problem.microbatches = 4;
  problem.bandwidth_bytes_per_s = 1e9;
  problem.transfers = CutTransfers::overlap;
  const double best = find_named(partitioner_entries(), "simulated")->cut(problem).value;
  const CutChain chain = chain_of(problem);
  const StageTimes times(problem, chain);
  CutJudge judge(problem, chain, times, 4);
  SimulatedCuts found;
  judge.take(Cuts{0, 10, 20, 30, 40}, true, found);
  search_near(times, 20'000, 1, judge, found);
  CHECK(to_us(found.time) / 1e6 == best);
}

}  // namespace penstock
