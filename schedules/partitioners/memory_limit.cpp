#include <fmt/format.h>

#include <cstdint>
#include <utility>

#include "schedules/partitioners/chain/cut_tables.hpp"
#include "schedules/partitioners/registry.hpp"
#include "sim/base/short_text.hpp"

namespace penstock::memory_limit_file {
namespace {

Cut nothing_fits(double capacity, double needed) {
  Cut cut;
  cut.finding = fmt::format(
      "out of memory: no cut keeps every stage within {}; the best one needs {} on its fullest "
      "stage",
      bytes_text(static_cast<std::uint64_t>(capacity)),
      bytes_text(static_cast<std::uint64_t>(needed)));
  return cut;
}

/// Under a capacity, the shortest longest stage; without one, the least fullest stage. Microbatches
/// in flight depend on how many stages follow, so there are exactly as many stages as asked.
Cut cut(const CutProblem& problem) {
  const std::uint32_t stages = stages_to_fill(problem);
  const CutChain chain = chain_of(problem);
  if (!problem.memory_bytes) {
    ChainCuts best = least_memory(problem, chain, stages);
    Cut result = cut_at(problem, chain, std::move(best.cuts), best.value);
    result.value_in_bytes = true;
    return result;
  }
  const StageCost memory = [&](std::uint32_t begin, std::uint32_t end, std::uint32_t stage) {
    return stage_memory(problem, chain, begin, end, stage, stages);
  };
  const StageCost compute = [&](std::uint32_t begin, std::uint32_t end, std::uint32_t /*stage*/) {
    return stage_s(problem, chain, begin, end);
  };
  const bool linked = problem.transfers != CutTransfers::none;
  auto best = (linked ? least_by_any_stage : least_by_stage)(problem.size(), stages, compute,
                                                             memory, *problem.memory_bytes);
  if (!best) {
    return nothing_fits(*problem.memory_bytes, least_memory(problem, chain, stages).value);
  }
  return cut_at(problem, chain, std::move(best->cuts), best->value);
}

}  // namespace

constinit extern const PartitionerEntry memory_limit_entry{
    .name = "memory",
    .summary = "the shortest longest stage within a capacity, exact; without one, the least memory",
    .cut = cut,
    .settings = "transfers",
    .follows_order = true,
    .keeps_capacity = true};

}  // namespace penstock::memory_limit_file
