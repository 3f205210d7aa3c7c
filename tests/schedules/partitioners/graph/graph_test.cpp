#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <limits>
#include <map>

#include "schedules/partitioners/graph/graph_cut.hpp"
#include "schedules/partitioners/graph/two_level_cut.hpp"
#include "schedules/partitioners/registry.hpp"
#include "sim/base/named.hpp"
#include "tests/support/cut_problems.hpp"
#include "tests/support/draws.hpp"

namespace penstock {
namespace {

using testing::any_problem;
using testing::below;
using testing::from_to;
using testing::one_in;

constexpr double none = std::numeric_limits<double>::infinity();

CutProblem drawn(std::uint32_t most_layers) {
  CutProblem problem = any_problem(most_layers);
  problem.transfers = CutTransfers{std::uint8_t(below(3))};
  problem.bandwidth_bytes_per_s = 1024;
  problem.settings.counts_first_output = one_in(3);
  return problem;
}

/// A set of layers as the bits of one number.
using Set = std::uint32_t;

bool is_closed(const CutProblem& problem, Set set) {
  return std::all_of(problem.edges.begin(), problem.edges.end(), [&](const auto& edge) {
    return (set >> edge.second & 1) == 0 || (set >> edge.first & 1) == 1;
  });
}

double sum(const CutProblem& problem, Set set, double (*of)(const CutLayer&)) {
  double all = 0;
  for (std::uint32_t i = 0; i < problem.size(); ++i) {
    if ((set >> i & 1) != 0) all += of(problem.layers[i]);
  }
  return all;
}

/// Outputs that layers outside read, each once.
double boundary(const CutProblem& problem, Set set) {
  Set crossing = 0;
  for (const auto& [from, to] : problem.edges) {
    if ((set >> from & 1) == 1 && (set >> to & 1) == 0) crossing |= Set{1} << from;
  }
  return sum(problem, crossing, [](const CutLayer& layer) { return layer.output_bytes; });
}

/// The definition of PipeDream's cost: (T + 4 (m-1) W / (B m)) / m, with transfers.
double stage_cost(const CutProblem& problem, Set before, Set upto, double m) {
  const double bandwidth = *problem.bandwidth_bytes_per_s;
  const Set own = upto & ~before;
  const double t = sum(problem, own, [](const CutLayer& layer) { return layer.compute_s(); });
  const double w = sum(problem, own, [](const CutLayer& layer) { return layer.parameter_bytes; });
  const double work = (t + 4 * (m - 1) * w / (bandwidth * m)) / m;
  const bool last = upto == (Set{1} << problem.size()) - 1;
  const double in = before == 0 ? 0 : boundary(problem, before) / (bandwidth * m);
  const bool counts_first =
      problem.settings.counts_first_output || problem.transfers == CutTransfers::serial;
  const bool sends = !last && (before != 0 || counts_first);
  const double out = sends ? boundary(problem, upto) / (bandwidth * m) : 0;
  if (problem.transfers == CutTransfers::none) return work;
  if (problem.transfers == CutTransfers::serial) return work + in + out;
  return std::max({work, 2 * in, 2 * out});
}

/// Tries every chain of closed sets and every number of devices for each stage.
double best_of_all(const CutProblem& problem, Set upto, std::uint32_t devices, bool replicas,
                   std::map<std::pair<Set, std::uint32_t>, double>& known) {
  if (upto == 0) return devices == 0 ? 0 : none;
  if (devices == 0) return none;
  const auto [at, is_new] = known.try_emplace({upto, devices}, none);
  if (!is_new) return at->second;
  double best = none;
  for (Set before = 0; before < upto; ++before) {
    if ((before & ~upto) != 0 || !is_closed(problem, before)) continue;
    for (std::uint32_t m = 1; m <= (replicas ? devices : 1); ++m) {
      const double rest = best_of_all(problem, before, devices - m, replicas, known);
      if (rest < none) best = std::min(best, std::max(rest, stage_cost(problem, before, upto, m)));
    }
  }
  return known[{upto, devices}] = best;
}

}  // namespace

TEST_CASE("ideals is the best of all chains of closed sets, with replicas and without") {
  CHECK(rc::check([] {
    CutProblem problem = drawn(7);
    const bool replicas = one_in(2);
    const std::uint32_t devices = replicas ? from_to(1, 5) : from_to(1, problem.size());
    problem.stages = problem.ranks = devices;
    problem.devices = replicas ? devices : 0;
    std::map<std::pair<Set, std::uint32_t>, double> known;
    const Set all = (Set{1} << problem.size()) - 1;
    const double best = best_of_all(problem, all, devices, replicas, known);
    const Cut cut = find_named(partitioner_entries(), "ideals")->cut(problem);
    RC_ASSERT(std::abs(cut.value - best) <= 1e-12 + 1e-9 * best);
    std::uint32_t used = 0;
    for (const CutStage& stage : cut.stages) used += stage.replicas;
    RC_ASSERT(used == devices);
  }));
}

TEST_CASE("ideals and balanced give a chain the same value when transfers are in sequence") {
  CHECK(rc::check([] {
    CutProblem problem = testing::any_chain(9);
    problem.transfers = CutTransfers::serial;
    problem.bandwidth_bytes_per_s = 1024;
    problem.stages = problem.ranks = from_to(1, problem.size());
    const double ideals = find_named(partitioner_entries(), "ideals")->cut(problem).value;
    const double balanced = find_named(partitioner_entries(), "balanced")->cut(problem).value;
    RC_ASSERT(std::abs(ideals - balanced) <= 1e-12);
  }));
}

TEST_CASE("above the limit of ideals the best of several chains is taken, and said so") {
  CutProblem problem;
  problem.layers.assign(9, {.forward_s = 1e-3, .backward_s = 2e-3});
  for (std::uint32_t i = 1; i < 9; ++i) problem.edges.emplace_back(0, i);
  problem.stages = problem.ranks = 3;
  const PartitionerEntry& ideals = *find_named(partitioner_entries(), "ideals");
  CHECK(ideals.cut(problem).notes.front() == "over all 257 down-closed sets");
  problem.settings.most_ideals = 256;
  const Cut cut = ideals.cut(problem);
  CHECK(cut.value == doctest::Approx(9e-3));
  CHECK(cut.notes.front() ==
        "the model has more than 256 down-closed sets: this is the best of several chains, and a "
        "better cut may exist; most_ideals raises the limit");
}

TEST_CASE("one group of devices, and groups of one device, are cut as without groups") {
  CHECK(rc::check([] {
    const CutProblem problem = drawn(7);
    const SetsToFill sets = sets_to_fill(problem);
    const std::uint32_t devices = from_to(1, 4);
    const ReplicaPrices prices = replica_prices(problem, problem.bandwidth_bytes_per_s);
    const double flat = replicated_cut(sets.space, prices, devices, true).value;
    const TwoLevelCut outer = two_level_cut(sets.space, {prices, prices, 1, devices});
    RC_ASSERT(outer.value == flat);
    const TwoLevelCut inner = two_level_cut(sets.space, {prices, prices, devices, 1});
    RC_ASSERT(inner.value == flat);
  }));
}

TEST_CASE("PipeDream counts an output that a branch inside the stage reads") {
  // 0 feeds 1 and 2, which 3 reads; behind {0, 1, 2} it counts 0 too, though nobody outside reads
  // it.
  CutProblem problem;
  problem.layers.assign(4, {});
  for (std::size_t i = 0; i < 4; ++i) problem.layers[i].output_bytes = double(1 << i);
  problem.edges = {{0, 1}, {0, 2}, {1, 3}, {2, 3}};
  const auto space = ideals_of(problem, 100);
  REQUIRE(space);
  const std::vector<double> published = published_boundaries(problem, *space);
  REQUIRE(space->size() == 6);
  for (std::uint32_t i = 0; i < 6; ++i) {
    if (space->has(i, 1) && space->has(i, 2) && !space->has(i, 3)) {
      CHECK(space->boundary_bytes[i] == 6);
      CHECK(published[i] == 7);
    }
  }
}

// The first layer, whose weights are dear to sum, has a device of its own, and the other seven
// share six layers: (8 - 1) / 1 forwards before the first backward on the one, none on the others.
// Eight microbatches are in flight there, in the end each with weights of its own: state of four
// times the weights, seven older versions, eight stashes.
TEST_CASE("pipedream: stages with replicas hold what they do in its order") {
  CutProblem problem;
  problem.layers.assign(7, {.forward_s = 5, .backward_s = 10, .stash_bytes = 1});
  problem.layers[0] = {.forward_s = 2, .backward_s = 4, .parameter_bytes = 40960, .stash_bytes = 3};
  for (std::uint32_t i = 1; i < 7; ++i) problem.edges.emplace_back(i - 1, i);
  problem.stages = problem.ranks = problem.devices = 8;
  problem.exactly = false;
  problem.microbatches = 32;
  problem.bandwidth_bytes_per_s = 1024;
  const Cut cut = find_named(partitioner_entries(), "pipedream")->cut(problem);
  REQUIRE(cut.stages.size() == 2);
  REQUIRE(cut.stages[0].layers.size() == 1);
  CHECK(cut.stages[0].replicas == 1);
  CHECK(cut.stages[0].memory_bytes == (4 + 7) * 40960 + 8 * 3);
  CHECK(cut.stages[1].replicas == 7);
  CHECK(cut.stages[1].memory_bytes == 6);
}

}  // namespace penstock
