#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>

#include "sim/order/weight_versions.hpp"
#include "sim/report/idle.hpp"
#include "sim/report/report.hpp"
#include "tests/support/refusal.hpp"
#include "tests/support/ruled_system.hpp"

// Schedules without a flush: what versions they hold, how old gradients get, and how quickly they
// go on once they are full.

namespace penstock::testing {
namespace {

/// A chain whose stages have so many replicas, on ranks one after the other.
Placement replicated(const std::vector<std::uint32_t>& replicas) {
  std::vector<std::vector<Rank>> ranks;
  std::vector<Stage> chain;
  std::uint32_t next = 0;
  for (const std::uint32_t count : replicas) {
    chain.push_back(Stage{static_cast<std::uint32_t>(ranks.size())});
    ranks.emplace_back();
    for (std::uint32_t i = 0; i < count; ++i) ranks.back().push_back(Rank{next++});
  }
  return Placement::given(next, ranks, {chain});
}

Schedule order(std::string_view name, const Placement& placement, std::uint32_t microbatches,
               const CatalogueSettings& settings = {}) {
  return make_schedule(rule(name), placement, {microbatches, settings});
}

std::string row_text(const Schedule& schedule, std::uint32_t rank) {
  std::string row;
  for (const Action& action : schedule.on(Rank{rank}))
    row += (row.empty() ? "" : " ") + text(action);
  return row;
}

/// Stages with replicas, and how long a microbatch of theirs takes at best.
struct Replicated {
  std::vector<std::uint32_t> replicas;
  std::vector<Layer> stages;
  double interval_us = 0;
};

std::optional<double> steady_us(const Replicated& system) {
  const Placement placement = replicated(system.replicas);
  const Outcome outcome = simulated({placement, order("pipedream", placement, 96), system.stages});
  return steady_interval_us(outcome.plan, outcome.timeline);
}

std::string refusal(const Placement& placement, const CatalogueSettings& settings) {
  return refused_with<RuleError>([&] { order("pipedream-2bw", placement, 8, settings); });
}

}  // namespace

TEST_CASE("pipedream updates after every backward and never flushes") {
  const Schedule schedule = order("pipedream", Placement::loop(2, 1), 3);
  CHECK(row_text(schedule, 0) == "0F0 0F1 0B0 0U0 0F2 0B1 0U1 0B2 0U2");
  CHECK(row_text(schedule, 1) == "1F0 1B0 1U0 1F1 1B1 1U1 1F2 1B2 1U2");
}

TEST_CASE("replicas of pipedream take minibatches in turn, F and B of one on the same replica") {
  // Stages with 1 and 2 replicas: stage 0 warms up with (3-1)/1 = 2, stage 1 with (2-1)/2 = 0.
  const Schedule schedule = order("pipedream", replicated({1, 2}), 4);
  CHECK(row_text(schedule, 0) == "0F0 0F1 0F2 0B0 0U0 0F3 0B1 0U1 0B2 0U2 0B3 0U3");
  CHECK(row_text(schedule, 1) == "1F0 1B0 1U0 1F2 1B2 1U2");
  CHECK(row_text(schedule, 2) == "1F1 1B1 1U1 1F3 1B3 1U3");
}

TEST_CASE(
    "pipedream holds K+1 versions and is K updates late, K = (ranks from here - 1) / replicas") {
  for (const std::vector<std::uint32_t>& replicas : {std::vector<std::uint32_t>{1},
                                                     {1, 1},
                                                     {1, 1, 1, 1},
                                                     {1, 2, 3},
                                                     {3, 2, 1},
                                                     {2, 2},
                                                     {4, 1}}) {
    const Placement placement = replicated(replicas);
    const Schedule schedule = order("pipedream", placement, 64);
    const auto found = weight_versions(schedule, placement);
    std::uint32_t from_here = placement.ranks();
    for (Stage stage : placement.stages()) {
      CAPTURE(index(stage));
      const std::uint32_t warm_up = (from_here - 1) / placement.replicas(stage);
      for (Microbatch replica : Numbers<Microbatch>(placement.replicas(stage))) {
        const WeightVersions& slot = found[placement.slot_of(stage, replica)];
        CHECK(slot.versions == warm_up + 1);
        CHECK(slot.staleness == warm_up);
      }
      from_here -= placement.replicas(stage);
    }
  }
}

TEST_CASE("pipedream-2bw holds its versions on every rank, each versions - 1 updates late") {
  for (const std::uint32_t p : {2U, 3U, 4U, 8U}) {
    for (const std::uint32_t versions : {2U, 3U, 4U}) {
      CAPTURE(p);
      CAPTURE(versions);
      const Placement placement = Placement::loop(p, 1);
      const Schedule schedule =
          order("pipedream-2bw", placement, 64, {{"versions", std::to_string(versions)}});
      for (const WeightVersions& slot : weight_versions(schedule, placement)) {
        CHECK(slot.versions == versions);
        CHECK(slot.staleness == versions - 1);
      }
    }
  }
}

TEST_CASE("pipedream-2bw never asks for a version that is missing yet, with the least group too") {
  // Version v is there once v updates stand in the row; group t uses max(0, t - (versions - 1)).
  for (const std::uint32_t p : {2U, 3U, 5U, 8U}) {
    for (const std::uint32_t versions : {2U, 3U, 4U}) {
      const std::uint32_t group = std::max(1U, (p - 1 + versions - 2) / (versions - 1));
      const CatalogueSettings settings{{"versions", std::to_string(versions)},
                                       {"group", std::to_string(group)}};
      const Schedule schedule = order("pipedream-2bw", Placement::loop(p, 1), 40, settings);
      for (Rank rank : Numbers<Rank>(p)) {
        std::uint32_t updates = 0;
        for (const Action& action : schedule.on(rank)) {
          if (action.pass == Pass::update) ++updates;
          if (action.pass != Pass::forward) continue;
          const std::uint32_t own = index(action.microbatch) / group;
          CHECK(updates + versions - 1 >= own);
        }
      }
    }
  }
}

TEST_CASE("pipedream-2bw updates once a group, and after what is left over") {
  CHECK(row_text(order("pipedream-2bw", Placement::loop(2, 1), 3), 1) ==
        "1F0 1B0 1F1 1B1 1U1 1F2 1B2 1U2");
}

TEST_CASE("pipedream-2bw refuses one version, and groups that the pipeline does not fit in") {
  const Placement four = Placement::loop(4, 1);
  CHECK(refusal(four, {{"versions", "1"}}) == "versions is 1: must be at least 2 without a flush");
  CHECK(refusal(four, {{"group", "2"}}) ==
        "group 2 is too small for 4 stages and 2 versions: group * (versions - 1) must be at least "
        "p-1");
  CHECK(refusal(four, {{"group", "3"}}) == "accepted");
  CHECK(refusal(four, {{"group", "2"}, {"versions", "3"}}) == "accepted");
}

TEST_CASE("without a flush no rank idles between fill and drain, whatever p") {
  // Equal stages, f = 1, b = 2: rank r starts at r, its first gradient comes 3(p-1-r) after the end
  // of its warm-up, and it works to the end of its last F without a pause.
  for (const char* name : {"pipedream", "pipedream-2bw"}) {
    for (const std::uint32_t p : {1U, 2U, 4U, 8U}) {
      CAPTURE(name);
      CAPTURE(p);
      const Placement placement = Placement::loop(p, 1);
      const Outcome outcome =
          simulated({placement, order(name, placement, 64), std::vector<Layer>(p, stage_of(1, 2))});
      const Time full = outcome.timeline.end[task_of(outcome.plan, "0B0")];
      const Time drains = outcome.timeline.end[task_of(outcome.plan, "0F63")];
      for (const IdleGap& gap : idle_gaps(outcome.plan, outcome.timeline)) {
        CHECK((gap.end <= full || gap.begin >= drains));
      }
    }
  }
}

TEST_CASE(
    "pipedream takes max (f+b)/replicas a microbatch in straight pipelines, and of two stages") {
  const std::vector<Replicated> cases{
      {{1}, {stage_of(1, 2)}, 3},
      {{1, 1, 1}, {stage_of(1, 2), stage_of(1, 2), stage_of(1, 2)}, 3},
      {{1, 1, 1}, {stage_of(1, 2), stage_of(2, 5), stage_of(1, 1)}, 7},
      {{1, 1, 1}, {stage_of(3, 4), stage_of(1, 2), stage_of(1, 1)}, 7},
      {{1, 1, 1}, {stage_of(1, 1), stage_of(1, 2), stage_of(4, 3)}, 7},
      {{1, 2}, {stage_of(1, 2), stage_of(2, 4)}, 3},
      {{1, 3}, {stage_of(1, 2), stage_of(3, 6)}, 3},
      {{2, 2}, {stage_of(2, 4), stage_of(2, 4)}, 3},
      {{2, 1}, {stage_of(2, 4), stage_of(1, 2)}, 3},
      {{2, 1}, {stage_of(2, 6), stage_of(1, 1)}, 4},
      {{3}, {stage_of(2, 4)}, 2},
  };
  for (const Replicated& one : cases) {
    CAPTURE(fmt::format("{}", fmt::join(one.replicas, " ")));
    CHECK(steady_us(one) == one.interval_us);
  }
}

TEST_CASE("replicas between other stages make pipedream wait for itself") {
  // 1, 2 and 1 replicas, (f+b)/replicas = 3 everywhere. Stage 0 warms up with (4-1)/1 = 3, so its
  // F(n+4) stands behind B(n); a replica of stage 1 with (3-1)/2 = 1, so its B(n) stands behind
  // F(n+2). Around: 1F(n+2), 1B(n), 0B(n), 0F(n+4) and 1F(n+4) take 4 + 2 + 1 + 2 = 9 for every two
  // microbatches. The same circle is in 1, 2 and 3 replicas.
  CHECK(steady_us({{1, 2, 1}, {stage_of(1, 2), stage_of(2, 4), stage_of(1, 2)}}) == 4.5);
  CHECK(steady_us({{1, 2, 3}, {stage_of(1, 2), stage_of(2, 4), stage_of(3, 6)}}) == 4.5);
}

TEST_CASE("pipedream is never quicker than max (f+b)/replicas") {
  for (const Replicated& one :
       {Replicated{{3, 2, 1}, {stage_of(3, 6), stage_of(2, 4), stage_of(1, 2)}, 3},
        Replicated{{1, 2, 3}, {stage_of(1, 1), stage_of(2, 4), stage_of(1, 2)}, 3},
        Replicated{{2, 3}, {stage_of(1, 1), stage_of(5, 4)}, 3}}) {
    CHECK(steady_us(one) >= one.interval_us);
  }
}

}  // namespace penstock::testing
