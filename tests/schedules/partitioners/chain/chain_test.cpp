#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "schedules/partitioners/chain/bottleneck.hpp"
#include "schedules/partitioners/registry.hpp"
#include "sim/base/named.hpp"
#include "sim/base/random.hpp"
#include "tests/support/cut_problems.hpp"
#include "tests/support/draws.hpp"

namespace penstock {
namespace {

using testing::any_chain;
using testing::any_problem;
using testing::below;
using testing::from_to;
using testing::least_of_cuts;
using testing::one_in;
using Cuts = std::vector<std::uint32_t>;

Cut cut_by(const char* name, const CutProblem& problem) {
  return find_named(partitioner_entries(), name)->cut(problem);
}

/// A problem with drawn stages, microbatches and transfers.
CutProblem drawn_chain() {
  CutProblem problem = any_problem(9);
  problem.stages = problem.ranks = from_to(1, problem.size());
  problem.exactly = one_in(2);
  problem.microbatches = from_to(1, 6);
  problem.transfers = CutTransfers{std::uint8_t(below(3))};
  if (problem.transfers != CutTransfers::none) problem.bandwidth_bytes_per_s = 1024;
  return problem;
}

std::uint32_t fewest(const CutProblem& problem) { return problem.exactly ? problem.stages : 1; }

double compute(const CutChain& chain, const Cuts& cuts, std::size_t s) {
  return chain.compute_s[cuts[s + 1]] - chain.compute_s[cuts[s]];
}

/// The definition: transfers beside the compute of a stage or in sequence with it.
double longest_stage(const CutProblem& problem, const CutChain& chain, const Cuts& cuts) {
  double most = 0;
  for (std::size_t s = 0; s + 1 < cuts.size(); ++s) {
    const double in = s == 0 ? 0 : chain.boundary_bytes[cuts[s]] / 1024;
    const double out = s + 2 == cuts.size() ? 0 : chain.boundary_bytes[cuts[s + 1]] / 1024;
    const double own = compute(chain, cuts, s);
    if (problem.transfers == CutTransfers::none) most = std::max(most, own);
    if (problem.transfers == CutTransfers::overlap) most = std::max({most, own, 2 * in, 2 * out});
    if (problem.transfers == CutTransfers::serial) most = std::max(most, own + in + out);
  }
  return most;
}

/// 4 bytes of state per byte of weights, and stashes of min(M, k - s) microbatches.
double fullest_stage(const CutProblem& problem, const Cuts& cuts) {
  double most = 0;
  const std::size_t stages = cuts.size() - 1;
  for (std::size_t s = 0; s < stages; ++s) {
    double bytes = 0;
    for (std::uint32_t i = cuts[s]; i < cuts[s + 1]; ++i) {
      const CutLayer& layer = problem.layers[i];
      bytes += 4 * layer.parameter_bytes +
               std::min<double>(problem.microbatches, double(stages - s)) * layer.stash_bytes;
    }
    most = std::max(most, bytes);
  }
  return most;
}

}  // namespace

TEST_CASE("balanced is the best of all cuts, with and without transfers") {
  CHECK(rc::check([] {
    const CutProblem problem = drawn_chain();
    const CutChain chain = chain_of(problem);
    const auto value = [&](const Cuts& cuts) { return longest_stage(problem, chain, cuts); };
    const Cut cut = cut_by("balanced", problem);
    RC_ASSERT(cut.value == least_of_cuts(problem.size(), fewest(problem), problem.stages, value));
    RC_ASSERT(value(cut.cuts) == cut.value);
    RC_ASSERT(cut.stages.size() <= problem.stages);
    RC_ASSERT(!problem.exactly || cut.stages.size() == problem.stages);
  }));
}

TEST_CASE("the least bottleneck of random times is exact to the last bit") {
  CHECK(rc::check([] {
    std::vector<double> prefix{0};
    const std::uint32_t size = from_to(1, 12);
    for (std::uint32_t i = 0; i < size; ++i) prefix.push_back(prefix.back() + below(1000) / 7.0);
    const std::uint32_t stages = from_to(1, size);
    const auto value = [&](const Cuts& cuts) {
      double most = 0;
      for (std::size_t s = 1; s < cuts.size(); ++s) {
        most = std::max(most, prefix[cuts[s]] - prefix[cuts[s - 1]]);
      }
      return most;
    };
    RC_ASSERT(least_bottleneck(prefix, stages).value == least_of_cuts(size, 1, stages, value));
  }));
}

TEST_CASE("memory is the best of all cuts: least memory, or shortest within a capacity") {
  CHECK(rc::check([] {
    CutProblem problem = drawn_chain();
    const CutChain chain = chain_of(problem);
    const auto bytes = [&](const Cuts& cuts) { return fullest_stage(problem, cuts); };
    const double least = least_of_cuts(problem.size(), problem.stages, problem.stages, bytes);
    RC_ASSERT(cut_by("memory", problem).value == least);
    problem.memory_bytes = least + below(20);
    const auto within = [&](const Cuts& cuts) {
      return bytes(cuts) <= *problem.memory_bytes ? longest_stage(problem, chain, cuts)
                                                  : std::numeric_limits<double>::infinity();
    };
    const Cut cut = cut_by("memory", problem);
    RC_ASSERT(cut.value == least_of_cuts(problem.size(), problem.stages, problem.stages, within));
    RC_ASSERT(bytes(cut.cuts) <= *problem.memory_bytes);
  }));
}

TEST_CASE("gpipe has the least variance of all cuts into as many stages") {
  CHECK(rc::check([] {
    const CutProblem problem = drawn_chain();
    const CutChain chain = chain_of(problem);
    const auto deviation = [&](const Cuts& cuts) {
      const double stages = double(cuts.size()) - 1;
      const double mean = chain.compute_s.back() / stages;
      double squares = 0;
      for (std::size_t s = 0; s + 1 < cuts.size(); ++s) {
        squares += std::pow(compute(chain, cuts, s) - mean, 2);
      }
      return std::sqrt(squares / stages);
    };
    const double least = least_of_cuts(problem.size(), problem.stages, problem.stages, deviation);
    RC_ASSERT(std::abs(cut_by("gpipe", problem).value - least) < 1e-9);
  }));
}

TEST_CASE("least_traffic sends the fewest bytes of all cuts within the bound") {
  CHECK(rc::check([] {
    CutProblem problem = drawn_chain();
    problem.settings.balance = 1 + below(4) / 4.0;
    const CutChain chain = chain_of(problem);
    const double longest =
        least_bottleneck(chain.compute_s, problem.stages).value * problem.settings.balance;
    const auto bytes = [&](const Cuts& cuts) {
      double sum = 0;
      for (std::size_t s = 0; s + 1 < cuts.size(); ++s) {
        if (compute(chain, cuts, s) > longest) return std::numeric_limits<double>::infinity();
        if (s > 0) sum += chain.boundary_bytes[cuts[s]];
      }
      return sum;
    };
    const double least = least_of_cuts(problem.size(), fewest(problem), problem.stages, bytes);
    RC_ASSERT(cut_by("least_traffic", problem).value == least);
  }));
}

TEST_CASE("least_traffic: a cut on its bound is not lost to the rounding of sums") {
  // Layers of tenths of milliseconds: sums of doubles differ in the last bits from those of whole
  // numbers, by which the bound is meant.
  CHECK(rc::check([] {
    CutProblem problem = any_chain(10);
    std::vector<std::uint32_t> tenths;
    for (CutLayer& layer : problem.layers) {
      tenths.push_back(from_to(1, 4));
      layer.forward_s = tenths.back() / 1e4;
      layer.backward_s = 0;
    }
    problem.stages = problem.ranks = from_to(1, problem.size());
    problem.exactly = true;
    problem.settings.balance = 1;
    const CutChain chain = chain_of(problem);
    const auto longest = [&](const Cuts& cuts) {
      std::uint32_t most = 0;
      for (std::size_t s = 0; s + 1 < cuts.size(); ++s) {
        const auto first = tenths.begin();
        most = std::max(most, std::accumulate(first + cuts[s], first + cuts[s + 1], 0U));
      }
      return double(most);
    };
    const double bound = least_of_cuts(problem.size(), problem.stages, problem.stages, longest);
    const auto bytes = [&](const Cuts& cuts) {
      if (longest(cuts) > bound) return std::numeric_limits<double>::infinity();
      double sum = 0;
      for (std::size_t s = 1; s + 1 < cuts.size(); ++s) sum += chain.boundary_bytes[cuts[s]];
      return sum;
    };
    const double least = least_of_cuts(problem.size(), problem.stages, problem.stages, bytes);
    RC_ASSERT(cut_by("least_traffic", problem).value == least);
  }));
}

/// The shortest longest stage on its device, of all cuts and of all orders of the devices unless
/// these stay in theirs.
double least_on_devices(const CutProblem& problem) {
  const CutChain chain = chain_of(problem);
  std::vector<std::uint32_t> order(problem.stages);
  std::iota(order.begin(), order.end(), 0U);
  const auto value = [&](const Cuts& cuts) {
    double most = 0;
    for (std::uint32_t s = 0; s < problem.stages; ++s) {
      const double bytes = stage_memory(problem, chain, cuts[s], cuts[s + 1], s, problem.stages);
      if (bytes > problem.settings.memories[order[s]]) {
        return std::numeric_limits<double>::infinity();
      }
      const double in = chain.boundary_s[cuts[s]];
      const double out = chain.boundary_s[cuts[s + 1]];
      const double own = compute(chain, cuts, s) / problem.settings.speeds[order[s]];
      const bool serial = problem.transfers == CutTransfers::serial;
      most = std::max(most, serial ? own + in + out : std::max({own, in, out}));
    }
    return most;
  };
  double least = std::numeric_limits<double>::infinity();
  do {
    least = std::min(least, least_of_cuts(problem.size(), problem.stages, problem.stages, value));
  } while (!problem.settings.keep_order && std::next_permutation(order.begin(), order.end()));
  return least;
}

TEST_CASE("devices is the best of all cuts and of all orders of the devices") {
  CHECK(rc::check([] {
    CutProblem problem = drawn_chain();
    problem.exactly = true;
    problem.stages = problem.ranks = from_to(1, std::min(problem.size(), 4U));
    for (std::uint32_t i = 0; i < problem.stages; ++i) {
      problem.settings.speeds.push_back(1.0 / (1 << below(3)));
      problem.settings.memories.push_back(problem.stages * 20.0 + below(200));
    }
    problem.settings.keep_order = one_in(2);
    const double least = least_on_devices(problem);
    const Cut cut = cut_by("devices", problem);
    RC_ASSERT(cut.finding.empty() == (least < std::numeric_limits<double>::infinity()));
    if (cut.finding.empty()) RC_ASSERT(cut.value == least);
  }));
}

/// Layers of 5, 1, 5, 1, 5 and 3 s on devices of speed 3, 2 and 1/4, which holds no other layer:
/// 4 s take [5 1 5] on the first, then 1 on the slow one. The furthest end of the first, behind the
/// second layer of 1, leaves nothing that the slow one can do in time.
CutProblem slow_in_the_middle() {
  CutProblem problem;
  for (const double seconds : {5, 1, 5, 1, 5, 3}) {
    problem.layers.push_back({.forward_s = seconds, .backward_s = 0});
  }
  problem.settings.speeds = {3, 2, 0.25};
  problem.settings.memories = {1e9, 1e9, 0};
  problem.stages = problem.ranks = 3;
  problem.settings.keep_order = false;
  return problem;
}

TEST_CASE("devices: of long chains too, layers that do not fit on a device may follow others") {
  CutProblem problem = slow_in_the_middle();
  CHECK(cut_by("devices", problem).value == doctest::Approx(4));
  // The slow device ends at a multiple of 64, so that bits are carried from word to word.
  problem.layers.insert(problem.layers.begin(), 6'012, {.parameter_bytes = 1});
  CHECK(cut_by("devices", problem).value == doctest::Approx(4));
}

TEST_CASE("devices: layers without work in front of a chain, few or thousands, change nothing") {
  for (int draw = 0; draw < 20; ++draw) {
    CutProblem problem = slow_in_the_middle();
    problem.microbatches = 1 + draw % 3;
    for (std::size_t i = 0; i < problem.layers.size(); ++i) {
      const auto bits = philox({std::uint32_t(draw), std::uint32_t(i), 0, 0}, {1, 2});
      problem.layers[i].forward_s = 1 + bits[0] % 8;
      problem.layers[i].stash_bytes = bits[1] % 5;
    }
    problem.settings.memories = {1e9, 1e9, 4.0 + draw % 7};
    problem.layers.insert(problem.layers.begin(), 3, {});
    const double least = least_on_devices(problem);
    problem.layers.insert(problem.layers.begin(), 6'006 + draw % 8, {});
    CAPTURE(draw);
    CHECK(cut_by("devices", problem).value == least);
  }
}

TEST_CASE("interleaved never puts more on the busiest rank than balanced chunks in turn") {
  CHECK(rc::check([] {
    CutProblem problem = any_chain(12);
    problem.ranks = from_to(1, std::max(1U, problem.size() / 2));
    problem.chunks = from_to(1, problem.size() / problem.ranks);
    problem.stages = problem.ranks * problem.chunks;
    problem.settings.evaluations = 500;
    const Cut even = cut_by("balanced", problem);
    std::vector<double> loads(problem.ranks, 0);
    for (const CutStage& stage : even.stages) loads[stage.rank] += stage.compute_s;
    const Cut cut = cut_by("interleaved", problem);
    RC_ASSERT(cut.value <= *std::max_element(loads.begin(), loads.end()) + 1e-12);
    std::vector<double> own(problem.ranks, 0);
    std::vector<std::uint32_t> chunks(problem.ranks, 0);
    for (const CutStage& stage : cut.stages) {
      own[stage.rank] += stage.compute_s;
      ++chunks[stage.rank];
    }
    RC_ASSERT(std::abs(*std::max_element(own.begin(), own.end()) - cut.value) < 1e-12);
    RC_ASSERT(std::all_of(chunks.begin(), chunks.end(),
                          [&](std::uint32_t count) { return count == problem.chunks; }));
  }));
}

}  // namespace penstock
