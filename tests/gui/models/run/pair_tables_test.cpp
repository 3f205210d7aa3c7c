#include "gui/models/run/pair_tables.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "gui/models/run/run_pair.hpp"
#include "gui/models/run/viewed_run.hpp"
#include "sim/base/time_sum.hpp"
#include "sim/timeline/timeline_file.hpp"
#include "tests/support/small_scenarios.hpp"

namespace penstock {
namespace {

ViewedRunPtr paired_run(const std::vector<std::string>& settings) {
  return viewed(read_scenario(std::string(PENSTOCK_ROOT) + "/experiments/scenarios/first_run.json",
                              settings));
}

const MovedOps* moved_for(const RunPair& pair, MovedBy cause) {
  for (const MovedOps& moved : pair.moved) {
    if (moved.cause == cause) return &moved;
  }
  return nullptr;
}

TEST_CASE("moved ops: what ops add themselves comes first, also of those that began later") {
  const RunPair pair = pair_of(paired_run({}), paired_run({"/model/stages/2/forward_us=1500"}),
                               PairAlignment::start);
  const MovedOps* const longer = moved_for(pair, MovedBy::length);
  REQUIRE(longer != nullptr);
  CHECK(&pair.moved.front() == longer);
  CHECK(longer->ops == 8);
  CHECK(longer->together == from_us(4000));
  for (const OpDifference& op : longer->most) CHECK(op.duration() == from_us(500));
  const MovedOps* const inherited = moved_for(pair, MovedBy::before);
  REQUIRE(inherited != nullptr);
  for (std::size_t i = 0; i < inherited->most.size(); ++i) {
    const OpDifference& op = inherited->most[i];
    CHECK(op.duration() == Time{});
    const bool named = op.by.a != no_task || op.by.b != no_task;
    CHECK(named);
    if (i > 0) CHECK(inherited->most[i - 1].end >= op.end);
  }
}

TEST_CASE("moved ops: of those that wait longer, how much longer counts") {
  const RunPair pair =
      pair_of(paired_run({}), paired_run({"/overheads/launch_us=100"}), PairAlignment::start);
  const MovedOps* const waits = moved_for(pair, MovedBy::wait);
  REQUIRE(waits != nullptr);
  Time sum{};
  for (const OpDifference& op : waits->most) sum += op.wait;
  CHECK(waits->together == sum);
  CHECK(waits->most.front().wait > Time{});
}

TEST_CASE("moved ops: only the first are kept, and all are counted; of equal runs there are none") {
  const ViewedRunPtr many = paired_run({"/schedule/microbatches=64"});
  const RunPair pair =
      pair_of(many, paired_run({"/schedule/microbatches=64", "/model/stages/2/forward_us=1500"}),
              PairAlignment::start);
  const MovedOps* const inherited = moved_for(pair, MovedBy::before);
  REQUIRE(inherited != nullptr);
  CHECK(inherited->most.size() == 50);
  CHECK(inherited->ops > 50);
  CHECK(pair_of(many, many, PairAlignment::start).moved.empty());
}

TEST_CASE("moved ops: each is of the run that it names, whichever is A") {
  const ViewedRunPtr small = paired_run({});
  const ViewedRunPtr large =
      paired_run({"/schedule/microbatches=64", "/model/stages/2/forward_us=1500"});
  for (const auto& [a, now] : {std::pair{small, large}, {large, small}}) {
    for (const bool against : {false, true}) {
      const RunPair pair = against ? pair_against(now, a, PairAlignment::start)
                                   : pair_of(a, now, PairAlignment::start);
      CHECK(pair.a->plan.tasks() == a->plan.tasks());
      CHECK(pair.now->plan.tasks() == now->plan.tasks());
      for (const MovedOps& moved : pair.moved) {
        for (const OpDifference& op : moved.most) {
          CHECK(op.task.a < pair.a->plan.tasks());
          CHECK(op.task.b < pair.now->plan.tasks());
          CHECK((op.by.b == no_task || op.by.b < pair.now->plan.tasks()));
        }
      }
    }
  }
}

TEST_CASE("kinds: the times of both runs, whichever is A and however they are aligned") {
  const ViewedRunPtr a = paired_run({});
  const ViewedRunPtr now =
      paired_run({"/model/stages/2/forward_us=1500", "/schedule/microbatches=10"});
  for (const PairAlignment alignment : {PairAlignment::start, PairAlignment::makespan}) {
    for (const bool against : {false, true}) {
      const RunPair pair = against ? pair_against(now, a, alignment) : pair_of(a, now, alignment);
      REQUIRE(pair.changes.size() == 5);
      const TwoAmounts& forward = pair.changes[0].changes.front();
      CHECK(forward.name == "forward");
      CHECK(forward.ops_in_a == 32);
      CHECK(forward.ops_now == 40);
      CHECK(forward.in_a == from_us(32000).picoseconds);
      CHECK(forward.now == from_us(45000).picoseconds);
      const auto total = [&](std::size_t group) {
        WideInteger sum = 0;
        for (const TwoAmounts& change : pair.changes[group].changes)
          sum += change.now - change.in_a;
        return sum;
      };
      Time expected{};
      for (const RankReport& rank : now->report.ranks) expected += rank.idle;
      for (const RankReport& rank : a->report.ranks) expected -= rank.idle;
      CHECK(total(1) == expected.picoseconds);
      CHECK(total(2) == expected.picoseconds);
      CHECK(pair.changes[3].bytes);
      CHECK(pair.changes[3].changes[0].in_a ==
            static_cast<std::int64_t>(a->report.ranks[0].memory.bytes));
      CHECK(pair.changes[4].changes[0].name == "0>1");
      CHECK(pair.changes[4].changes[0].ops_now == 10);
    }
  }
}

TEST_CASE("idle time by cause may exceed the clock on all ranks") {
  const auto idle_run = [](const std::vector<std::string>& settings) {
    return viewed(parse_scenario(testing::scenario_idle_beyond_clock(), "s.json", settings));
  };
  const auto groups = changes_of(*idle_run({}), *idle_run({"/model/stages/0/forward_us=9e11"}));
  const auto causes = std::find_if(groups.begin(), groups.end(), [](const AmountGroup& group) {
    return group.title == "idle time by cause, on all ranks";
  });
  REQUIRE(causes != groups.end());
  REQUIRE(causes->changes.size() == 1);
  // 11 of 12 ranks warm up for 1e18 ps, then for 9e17.
  CHECK(causes->changes[0].in_a == WideInteger{11} * 1'000'000'000'000'000'000);
  CHECK(causes->changes[0].now == WideInteger{11} * 900'000'000'000'000'000);
}

TEST_CASE("a recording differs in nothing from its run, and not in what it does not know") {
  const ViewedRunPtr a = paired_run({});
  const ViewedRunPtr recorded = viewed(Recording{a->plan, a->timeline, a->title}, "a.timeline");
  const auto groups = changes_of(*a, *recorded);
  REQUIRE(groups.size() == 3);
  CHECK(groups.back().title == "idle time by rank");
  for (const AmountGroup& group : groups) {
    for (const TwoAmounts& change : group.changes) CHECK(change.now == change.in_a);
  }
  CHECK(changes_of(*recorded, *recorded).back().title == "busy time by link");
}

}  // namespace
}  // namespace penstock
