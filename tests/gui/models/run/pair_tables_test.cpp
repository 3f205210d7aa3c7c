#include <doctest/doctest.h>

#include <algorithm>

#include "gui/models/run/run_pair.hpp"

namespace penstock {
namespace {

ViewedRunPtr paired_run(const std::vector<std::string>& settings) {
  return viewed(read_scenario(std::string(PENSTOCK_ROOT) + "/experiments/scenarios/first_run.json",
                              settings));
}

const MovedOps* of_reason(const RunPair& pair, Reason reason) {
  for (const MovedOps& moved : pair.moved) {
    if (moved.reason == reason) return &moved;
  }
  return nullptr;
}

TEST_CASE("moved ops: those of their own come first, with how much all of them add") {
  const ViewedRunPtr a = paired_run({});
  const ViewedRunPtr now = paired_run({"/model/stages/2/forward_us=1500"});
  const RunPair pair = pair_of(a, now, PairAlignment::start);
  const MovedOps* const longer = of_reason(pair, Reason::duration);
  REQUIRE(longer != nullptr);
  CHECK(&pair.moved.front() == longer);
  const MovedOps* const inherited = of_reason(pair, Reason::before);
  REQUIRE(inherited != nullptr);
  for (const MovedOps& moved : pair.moved) {
    CHECK(moved.ops >= moved.most.size());
    for (std::size_t i = 1; i < moved.most.size(); ++i) {
      CHECK(std::llabs(own_part(moved.most[i - 1]).picoseconds) >=
            std::llabs(own_part(moved.most[i]).picoseconds));
    }
  }
  for (const OpDifference& op : longer->most) {
    CHECK(op.duration() == from_us(500));
    CHECK(a->plan.class_of(op.task.a).pass == Pass::forward);
  }
  CHECK(longer->own == Time{from_us(500).picoseconds * static_cast<std::int64_t>(longer->ops)});
}

TEST_CASE("moved ops: only the first are kept, and all are counted") {
  const RunPair pair =
      pair_of(paired_run({"/schedule/microbatches=64"}),
              paired_run({"/schedule/microbatches=64", "/model/stages/2/forward_us=1500"}),
              PairAlignment::start);
  const MovedOps* const inherited = of_reason(pair, Reason::before);
  REQUIRE(inherited != nullptr);
  CHECK(inherited->most.size() == 50);
  CHECK(inherited->ops > 50);
}

TEST_CASE("kinds: the times of both runs, whichever is A and however they are aligned") {
  const ViewedRunPtr a = paired_run({});
  const ViewedRunPtr now =
      paired_run({"/model/stages/2/forward_us=1500", "/schedule/microbatches=10"});
  for (const PairAlignment alignment : {PairAlignment::start, PairAlignment::makespan}) {
    for (const bool against : {false, true}) {
      const RunPair pair = against ? pair_against(now, a, alignment) : pair_of(a, now, alignment);
      REQUIRE(pair.changes.size() == 5);
      const Change& forward = pair.changes[0].changes.front();
      CHECK(forward.name == "forward");
      CHECK(forward.ops_in_a == 32);
      CHECK(forward.ops_now == 40);
      CHECK(forward.in_a == from_us(32000).picoseconds);
      CHECK(forward.now == from_us(45000).picoseconds);
      const auto total = [&](std::size_t group) {
        std::int64_t sum = 0;
        for (const Change& change : pair.changes[group].changes) sum += change.now - change.in_a;
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

}  // namespace
}  // namespace penstock
