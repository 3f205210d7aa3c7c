#include "experiments/run/memory_findings.hpp"

#include <fmt/format.h>

#include "experiments/input/files/table.hpp"

namespace penstock {
namespace {

/// The finding for a rank that runs out of memory, and when it first did.
Finding out_of_memory(const RunResult& result, Rank rank, Time first, std::uint64_t capacity) {
  const std::uint64_t peak = result.report->ranks[index(rank)].memory.bytes;
  const TimeUnit unit = unit_for(result.report->makespan);
  return {"out_of_memory", rank, first,
          fmt::format("rank {} needs {} of {}: {} over from {} {} on", index(rank),
                      bytes_of_rank_text(peak, capacity), bytes_of_rank_text(capacity, capacity),
                      bytes_of_rank_text(peak - capacity, capacity), time_text(first, unit),
                      unit.name)};
}

}  // namespace

std::string bytes_of_rank_text(std::uint64_t bytes, std::uint64_t capacity) {
  constexpr double gib = 1073741824.0;
  if (static_cast<double>(capacity) < gib) return bytes_text(bytes);
  return number_text(static_cast<double>(bytes) / gib) + " GiB";
}

void add_memory_findings(RunResult& result) {
  const auto& capacity = result.layout.memory.capacity_bytes;
  if (!capacity) return;
  const auto first = first_above(*result.plan, result.costs, result.timeline, *capacity);
  for (Rank rank : Numbers<Rank>(result.plan->ranks)) {
    if (!first[index(rank)]) continue;
    result.findings.push_back(out_of_memory(result, rank, *first[index(rank)], *capacity));
  }
}

}  // namespace penstock
