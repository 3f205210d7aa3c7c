#include <doctest/doctest.h>

#include <algorithm>

#include "schedules/partitioners/registry.hpp"
#include "schedules/registry.hpp"
#include "sim/base/error.hpp"
#include "sim/base/named.hpp"
#include "tests/support/system.hpp"

namespace penstock {
namespace {

using Cuts = std::vector<std::uint32_t>;

/// A chain of layers that cost the same.
CutProblem equal_layers(std::uint32_t layers, std::uint32_t stages) {
  CutProblem problem;
  problem.layers.assign(layers, {.forward_s = 1e-3, .backward_s = 2e-3, .output_bytes = 8});
  for (std::uint32_t i = 1; i < layers; ++i) problem.edges.emplace_back(i - 1, i);
  problem.stages = problem.ranks = stages;
  problem.microbatches = 4;
  return problem;
}

/// What two ranks hold that run four microbatches in the order of a rule.
std::vector<RankHolds> of_rule(const char* name, std::uint32_t chunks) {
  const ScheduleEntry& rule = *find_named(schedule_entries(), name);
  const Placement placement = rule.place(2, chunks);
  return holds_of(make_schedule(rule, placement, {4, {}}), placement);
}

/// Stages hold every layer once, with all that a layer reads in its own or an earlier stage.
void check_stages(const CutProblem& problem, const Cut& cut) {
  std::vector<std::uint32_t> stage_of(problem.size(), UINT32_MAX);
  for (std::uint32_t s = 0; s < cut.stages.size(); ++s) {
    CHECK(!cut.stages[s].layers.empty());
    for (const std::uint32_t layer : cut.stages[s].layers) {
      CHECK(stage_of[layer] == UINT32_MAX);
      stage_of[layer] = s;
    }
  }
  CHECK(std::count(stage_of.begin(), stage_of.end(), UINT32_MAX) == 0);
  for (const auto& [from, to] : problem.edges) CHECK(stage_of[from] <= stage_of[to]);
}

}  // namespace

TEST_CASE("even cuts into as many layers each, the first stages taking what is left over") {
  const PartitionerEntry& even = *find_named(partitioner_entries(), "even");
  const auto cut = [&](std::uint32_t layers, std::uint32_t stages) {
    return even.cut(equal_layers(layers, stages)).cuts;
  };
  CHECK(cut(4, 2) == Cuts{0, 2, 4});
  CHECK(cut(7, 3) == Cuts{0, 3, 5, 7});
  CHECK(cut(3, 3) == Cuts{0, 1, 2, 3});
  CHECK_THROWS_WITH_AS(cut(2, 3), "3 stages need at least one layer each, got 2", InputError);
}

TEST_CASE("every partitioner cuts into as many stages as asked, with each layer in one") {
  for (const PartitionerEntry* entry : partitioner_entries()) {
    CAPTURE(entry->name);
    for (const std::uint32_t layers : {1U, 2U, 5U, 12U}) {
      for (std::uint32_t stages = 1; stages <= layers; ++stages) {
        const CutProblem problem = equal_layers(layers, stages);
        const Cut cut = entry->cut(problem);
        CHECK(cut.stages.size() == stages);
        CHECK(cut.cuts.size() == stages + 1);
        check_stages(problem, cut);
      }
      CHECK_THROWS_AS(entry->cut(equal_layers(layers, layers + 1)), InputError);
    }
  }
}

TEST_CASE("every partitioner gives the same cut each time, with transfers and a capacity too") {
  for (const PartitionerEntry* entry : partitioner_entries()) {
    CAPTURE(entry->name);
    for (const CutTransfers transfers : {CutTransfers::overlap, CutTransfers::serial}) {
      CutProblem problem = equal_layers(11, 4);
      problem.transfers = transfers;
      problem.bandwidth_bytes_per_s = 1e4;
      problem.memory_bytes = 1e9;
      const Cut first = entry->cut(problem);
      check_stages(problem, first);
      CHECK(first.stages.size() == 4);
      CHECK(entry->cut(problem).cuts == first.cuts);
    }
  }
}

// 1F1B on two ranks: two microbatches and one. In zb-v each rank has two stages, the last of them
// on rank 0. One of three replicas of a stage has every third microbatch.
TEST_CASE("what ranks hold is counted in the order of their rows") {
  using Moments = std::vector<std::vector<std::uint32_t>>;
  const auto plain = of_rule("1f1b", 1);
  CHECK(plain[0].most.front() == Moments{{2}});
  CHECK(plain[1].most.front() == Moments{{1}});
  CHECK(most_cells(of_rule("gpipe", 1)) == std::vector<std::uint32_t>{4, 4});
  const auto bidirectional = of_rule("dualpipe", 2);
  CHECK(bidirectional[0].stages == std::vector<std::uint32_t>{0, 1});
  const auto vee = of_rule("zb-v", 2);
  CHECK(vee[0].stages == std::vector<std::uint32_t>{0, 3});
  for (const RankHolds& rank : vee) {
    for (const auto& moments : rank.most) {
      for (const auto& moment : moments) CHECK(moment[0] + moment[1] <= 4);
    }
  }
  const Placement replicas =
      Placement::given(4, {{Rank{0}, Rank{1}, Rank{2}}, {Rank{3}}}, {{Stage{0}, Stage{1}}});
  Schedule order(4);
  order.on(Rank{0}) = testing::actions_of("0F0 0F3 0E0 0F6 0B3");
  CHECK(holds_of(order, replicas)[0].most.front() == Moments{{2}});
  CHECK(holds_of(order, replicas)[1].most.front() == Moments{{0}});
}

// PipeDream on two ranks: the first one runs its third forward with the weights of its first
// update, while its second microbatch still needs those before it.
TEST_CASE("ranks keep the weight versions of an asynchronous order") {
  CHECK(most_older(of_rule("pipedream", 1)) == std::vector<std::uint32_t>{1, 0});
  CHECK(most_older(of_rule("1f1b", 1)) == std::vector<std::uint32_t>{0, 0});
}

TEST_CASE("a capacity that no cut keeps is a finding that says what is needed") {
  // 3 layers of 10 bytes of weights, 4 bytes of state each: 40 bytes a stage at least.
  CutProblem problem = equal_layers(3, 3);
  for (CutLayer& layer : problem.layers) layer.parameter_bytes = 10;
  problem.memory_bytes = 39;
  const PartitionerEntry& memory = *find_named(partitioner_entries(), "memory");
  const Cut cut = memory.cut(problem);
  CHECK(cut.stages.empty());
  CHECK(cut.finding ==
        "out of memory: no cut keeps every stage within 39 B; the best one needs 40 B on its "
        "fullest stage");
  problem.memory_bytes = 40;
  CHECK(memory.cut(problem).stages.size() == 3);
}

TEST_CASE(
    "devices: the slow device takes less, and the best order puts it where that costs least") {
  // Layers of 6, 6, 6 and 3 ms on devices of speed 1, 1 and 1/2.
  CutProblem problem = equal_layers(4, 3);
  problem.layers.assign(4, {.forward_s = 2e-3, .backward_s = 4e-3});
  problem.layers[3] = {.forward_s = 1e-3, .backward_s = 2e-3};
  problem.settings.speeds = {0.5, 1, 1};
  const PartitionerEntry& devices = *find_named(partitioner_entries(), "devices");
  // The slow one first takes a layer of 6 ms in 12 ms.
  CHECK(devices.cut(problem).value == doctest::Approx(12e-3));
  problem.settings.keep_order = false;
  // Last it takes the short layer in 6 ms, beside 12 and 6 ms; in the middle no better than 12.
  const Cut best = devices.cut(problem);
  CHECK(best.value == doctest::Approx(12e-3));
  problem.settings.speeds = {0.25, 1, 1};
  CHECK(devices.cut(problem).value == doctest::Approx(12e-3));
  problem.settings.keep_order = true;
  CHECK(devices.cut(problem).value == doctest::Approx(24e-3));
}

TEST_CASE("interleaved: uneven chunks make even ranks") {
  // Layers of 4, 1, 1, 4 ms in four chunks on two ranks: in turn 5 and 5 ms; never better.
  CutProblem problem = equal_layers(4, 4);
  for (std::size_t i = 0; i < 4; ++i) {
    problem.layers[i] = {.forward_s = i % 3 == 0 ? 4e-3 : 1e-3};
  }
  problem.ranks = problem.chunks = 2;
  const PartitionerEntry& interleaved = *find_named(partitioner_entries(), "interleaved");
  CHECK(interleaved.cut(problem).value == doctest::Approx(5e-3));
  // 4, 1, 4, 1: in turn 8 and 2 ms, with chunks on other ranks 5 and 5 ms.
  std::swap(problem.layers[2], problem.layers[3]);
  const Cut cut = interleaved.cut(problem);
  CHECK(cut.value == doctest::Approx(5e-3));
  problem.settings.contiguous = true;
  CHECK(interleaved.cut(problem).value == doctest::Approx(8e-3));
}

}  // namespace penstock
