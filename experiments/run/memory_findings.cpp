#include "experiments/run/memory_findings.hpp"

#include <fmt/format.h>

#include "experiments/files/files.hpp"
#include "sim/base/error.hpp"

namespace penstock {
namespace {

/// "parameters 5, stash 30": what is there.
std::string held_text(const BytesByKind& by_kind) {
  std::string held;
  for (std::uint8_t kind = 0; kind < buffer_kinds; ++kind) {
    if (by_kind[kind] == 0) continue;
    held += fmt::format("{}{} {}", held.empty() ? "" : ", ", name(BufferKind{kind}), by_kind[kind]);
  }
  return held;
}

/// A rank that needs more than it has: when it did first, and what it held at its peak.
Finding out_of_memory(const RunResult& result, Rank rank, Time first, std::uint64_t capacity) {
  const MemoryPeak& peak = result.report->ranks[index(rank)].memory;
  const std::string maker = peak.task == no_task
                                ? "before any action"
                                : "when it came to " + task_text(*result.plan, peak.task);
  return {"out_of_memory", rank, first,
          fmt::format("rank {} exceeds its capacity of {} bytes from {} us on; at its peak, at {} "
                      "us {}, it holds {} bytes, {} too many: {}",
                      index(rank), capacity, text_us(first), text_us(peak.time), maker, peak.bytes,
                      peak.bytes - capacity, held_text(peak.by_kind))};
}

}  // namespace

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
