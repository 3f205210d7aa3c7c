#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "schedules/partitioners/chain/cut_tables.hpp"
#include "schedules/partitioners/registry.hpp"

namespace penstock::memory_limit_file {
namespace {

Cut nothing_fits(double capacity, double needed) {
  Cut cut;
  cut.finding = fmt::format(
      "out of memory: no cut keeps every stage within {:.0f} bytes; the best one needs {:.0f} "
      "bytes on its fullest stage",
      capacity, needed);
  return cut;
}

/// Compute, with the boundaries of a stage where these count.
StageCost compute_of(const CutProblem& problem, const CutChain& chain) {
  const bool serial = problem.transfers == CutTransfers::serial;
  return [&chain, serial](std::uint32_t begin, std::uint32_t end, std::uint32_t) {
    const double layers = chain.compute_s[end] - chain.compute_s[begin];
    if (serial) return layers + chain.boundary_s[begin] + chain.boundary_s[end];
    return std::max({layers, chain.boundary_s[begin], chain.boundary_s[end]});
  };
}

/// Under a capacity, the shortest longest stage; without one, the least fullest stage. Microbatches
/// in flight depend on how many stages follow, so there are exactly as many stages as asked.
Cut cut(const CutProblem& problem) {
  const std::uint32_t stages = stages_to_fill(problem);
  const CutChain chain = chain_of(problem);
  const StageCost memory = [&](std::uint32_t begin, std::uint32_t end, std::uint32_t stage) {
    return stage_memory(problem, chain, begin, end, stage, stages);
  };
  const StageCost nothing = [](std::uint32_t, std::uint32_t, std::uint32_t) { return 0.0; };
  const auto least_memory = [&] {
    return *least_by_stage(problem.size(), stages, memory, nothing, 0);
  };
  if (!problem.memory_bytes) {
    ChainCuts best = least_memory();
    Cut result = cut_at(problem, chain, std::move(best.cuts), best.value);
    result.value_in_bytes = true;
    return result;
  }
  const StageCost compute = compute_of(problem, chain);
  const bool linked = problem.transfers != CutTransfers::none;
  auto best = (linked ? least_by_any_stage : least_by_stage)(problem.size(), stages, compute,
                                                             memory, *problem.memory_bytes);
  if (!best) return nothing_fits(*problem.memory_bytes, least_memory().value);
  return cut_at(problem, chain, std::move(best->cuts), best->value);
}

}  // namespace

constinit extern const PartitionerEntry memory_limit_entry{
    "memory",
    "the shortest longest stage within a capacity, exact; without one, the least memory",
    cut,
    "",
    /*needs_costs=*/true,
    /*follows_order=*/true};

}  // namespace penstock::memory_limit_file
