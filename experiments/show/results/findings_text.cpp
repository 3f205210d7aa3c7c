#include "experiments/show/results/findings_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "experiments/input/files/table.hpp"
#include "experiments/run/run.hpp"

namespace penstock {
namespace {

/// With hundreds of ranks, the worst ones suffice.
constexpr std::size_t most_findings = 10;

const MemoryPeak& peak_of(const RunResult& result, const Finding& finding) {
  return result.report->ranks[index(*finding.rank)].memory;
}

/// Out-of-memory findings of this run. Findings of a training phase belong to another run.
std::vector<Finding> ranks_without_memory(const RunResult& result) {
  std::vector<Finding> ranks;
  if (!result.report || result.codec_training) return ranks;
  for (const Finding& finding : result.findings) {
    if (finding.kind == "out_of_memory" && finding.rank) ranks.push_back(finding);
  }
  std::stable_sort(ranks.begin(), ranks.end(), [&](const Finding& a, const Finding& b) {
    return peak_of(result, a).bytes > peak_of(result, b).bytes;
  });
  return ranks;
}

/// "parameters 5 GiB, stash 30 GiB".
std::string held_text(const BytesByKind& by_kind) {
  std::string held;
  for (std::uint8_t kind = 0; kind < buffer_kinds; ++kind) {
    if (by_kind[kind] == 0) continue;
    held += fmt::format("{}{} {}", held.empty() ? "" : ", ", name(BufferKind{kind}),
                        bytes_text(by_kind[kind]));
  }
  return held;
}

/// When a rank reaches its peak, in which action, and what it holds.
std::string peak_text(const RunResult& result, const MemoryPeak& peak, TimeUnit unit) {
  const std::string action =
      peak.task == no_task ? "before any action" : "in " + task_text(*result.plan, peak.task);
  return fmt::format("peak at {} {} {}: {}", time_text(peak.time, unit), unit.name, action,
                     held_text(peak.by_kind));
}

std::string memory_rows(const RunResult& result, const std::vector<Finding>& ranks,
                        const ReportOptions& options) {
  const std::uint64_t capacity = *result.layout.memory.capacity_bytes;
  const TimeUnit unit = unit_for(result.report->makespan);
  const std::size_t shown = options.all ? ranks.size() : std::min(ranks.size(), most_findings);
  std::vector<std::vector<std::string>> rows;
  for (std::size_t i = 0; i < shown; ++i) {
    const MemoryPeak& peak = peak_of(result, ranks[i]);
    rows.push_back({fmt::format("rank {}", index(*ranks[i].rank)),
                    bytes_of_rank_text(peak.bytes, capacity),
                    bytes_of_rank_text(peak.bytes - capacity, capacity) + " over",
                    fmt::format("from {} {} on", time_text(*ranks[i].time, unit), unit.name)});
    if (options.verbose) rows.back().push_back(peak_text(result, peak, unit));
  }
  std::string text = aligned(rows, {3, 4});
  if (shown < ranks.size())
    text += fmt::format("({} more; --all shows them)\n", ranks.size() - shown);
  return text;
}

std::string memory_text(const RunResult& result, const ReportOptions& options) {
  const std::vector<Finding> ranks = ranks_without_memory(result);
  if (ranks.empty()) return "";
  return fmt::format("\nfinding: out of memory: {} of {}, with a capacity of {} each\n{}",
                     ranks.size(), counted(result.report->ranks.size(), "rank"),
                     bytes_text(*result.layout.memory.capacity_bytes),
                     memory_rows(result, ranks, options));
}

}  // namespace

std::string findings_text(const RunResult& result, const ReportOptions& options) {
  std::string text = memory_text(result, options);
  const bool in_rows = !text.empty();
  for (const Finding& finding : result.findings) {
    if (in_rows && finding.kind == "out_of_memory" && finding.rank) continue;
    const bool says_kind = finding.text.starts_with(finding.kind + ":");
    text += fmt::format("\nfinding: {}{}\n", says_kind ? "" : finding.kind + ": ", finding.text);
  }
  return text;
}

}  // namespace penstock
