#include "experiments/show/results/result_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>
#include <string_view>
#include <utility>
#include <vector>

#include "experiments/input/files/table.hpp"
#include "experiments/input/profiles/profile_rows.hpp"
#include "experiments/run/codec_report.hpp"
#include "experiments/run/memory_findings.hpp"
#include "experiments/show/results/run_summary.hpp"

namespace penstock {
namespace {

/// One column of the rank table.
struct Column {
  const char* name;
  bool always;  // shown even if all ranks have the usual value
  std::string (*show)(const RankReport& rank, TimeUnit unit);
  std::string_view usual = "0";
};

constexpr std::array<Column, 17> columns{{
    {"start", true, [](const RankReport& r, TimeUnit u) { return time_text(r.start, u); }},
    {"end", true, [](const RankReport& r, TimeUnit u) { return time_text(r.end, u); }},
    {"busy", true, [](const RankReport& r, TimeUnit u) { return time_text(r.busy, u); }},
    {"idle", true, [](const RankReport& r, TimeUnit u) { return time_text(r.idle, u); }},
    {"idle %", true,
     [](const RankReport& r, TimeUnit) {
       const double all = to_us(r.busy + r.idle);
       return all == 0 ? std::string("0.0") : fmt::format("{:.1f}", to_us(r.idle) / all * 100);
     }},
    {"warm-up", false,
     [](const RankReport& r, TimeUnit u) { return time_text(r.idle_by_cause.warmup, u); }},
    {"drain", false,
     [](const RankReport& r, TimeUnit u) { return time_text(r.idle_by_cause.drain, u); }},
    {"dependency", false,
     [](const RankReport& r, TimeUnit u) { return time_text(r.idle_by_cause.dependency, u); }},
    {"contention", false,
     [](const RankReport& r, TimeUnit u) { return time_text(r.idle_by_cause.contention, u); }},
    {"transfer", false,
     [](const RankReport& r, TimeUnit u) { return time_text(r.idle_by_cause.transfer, u); }},
    {"memory", false,
     [](const RankReport& r, TimeUnit u) { return time_text(r.idle_by_cause.memory, u); }},
    {"launch", false,
     [](const RankReport& r, TimeUnit u) { return time_text(r.idle_by_cause.launch, u); }},
    {"actions", true, [](const RankReport& r, TimeUnit) { return fmt::format("{}", r.actions); }},
    {"peak act.", true,
     [](const RankReport& r, TimeUnit) { return fmt::format("{}", r.peak_activations); }},
    {"peak mem.", false,
     [](const RankReport& r, TimeUnit) {
       return r.memory.bytes == 0 ? std::string("0") : bytes_text(r.memory.bytes);
     }},
    {"versions", false,
     [](const RankReport& r, TimeUnit) { return fmt::format("{}", r.weights.versions); }, "1"},
    {"staleness", false,
     [](const RankReport& r, TimeUnit) { return fmt::format("{}", r.weights.staleness); }},
}};

/// Whether a column is always shown or has an unusual value.
bool shown(const Column& column, const Report& report, TimeUnit unit) {
  return column.always ||
         std::any_of(report.ranks.begin(), report.ranks.end(), [&](const RankReport& rank) {
           return column.show(rank, unit) != column.usual;
         });
}

/// Physical links, most used first; links used alike share a row.
std::string network_table(std::vector<NetworkLinkUse> network) {
  constexpr std::size_t most_links = 16;
  std::stable_sort(network.begin(), network.end(), [](const auto& one, const auto& other) {
    return one.utilization > other.utilization;
  });
  std::vector<std::vector<std::string>> rows{{"link", "transfers", "carried", "used"}};
  std::size_t next = 0;
  while (next < network.size() && rows.size() <= most_links) {
    const NetworkLinkUse& link = network[next];
    const auto is_other = [&](const NetworkLinkUse& other) {
      return other.transfers != link.transfers || other.bytes != link.bytes ||
             percent_text(other.utilization) != percent_text(link.utilization);
    };
    const auto begin = network.begin() + static_cast<std::ptrdiff_t>(next);
    const auto equal =
        static_cast<std::size_t>(std::find_if(begin, network.end(), is_other) - begin);
    const std::string others = equal < 2 ? "" : fmt::format(" and {} like it", equal - 1);
    rows.push_back({link.name + others, fmt::format("{}", link.transfers), bytes_text(link.bytes),
                    percent_text(link.utilization)});
    next += equal;
  }
  std::string text = aligned(rows, {0});
  if (next < network.size()) {
    text += fmt::format("({} left out; --json has all)\n",
                        counted(network.size() - next, "less used link"));
  }
  return text;
}

/// The rows of a table: all of up to ten ranks, else the first, the worst and the last.
struct ShownRanks {
  std::vector<std::size_t> numbers;
  std::string left_out;  // how many are left out, and why these are shown
};

std::size_t busiest(const Report& report) {
  const auto& ranks = report.ranks;
  return static_cast<std::size_t>(
      std::max_element(ranks.begin(), ranks.end(),
                       [](const auto& a, const auto& b) { return a.busy < b.busy; }) -
      ranks.begin());
}

std::size_t fullest(const Report& report) {
  const auto& ranks = report.ranks;
  return static_cast<std::size_t>(std::max_element(ranks.begin(), ranks.end(),
                                                   [](const auto& a, const auto& b) {
                                                     return a.memory.bytes < b.memory.bytes;
                                                   }) -
                                  ranks.begin());
}

ShownRanks shown_ranks(const Report& report, const ReportOptions& options) {
  constexpr std::size_t most_rows = 10;
  ShownRanks shown;
  const std::size_t count = report.ranks.size();
  if (options.all || count <= most_rows) {
    for (std::size_t rank = 0; rank < count; ++rank) shown.numbers.push_back(rank);
    return shown;
  }
  shown.numbers = {0, busiest(report), fullest(report), count - 1};
  std::sort(shown.numbers.begin(), shown.numbers.end());
  shown.numbers.erase(std::unique(shown.numbers.begin(), shown.numbers.end()), shown.numbers.end());
  shown.left_out = fmt::format(
      "({} ranks left out; rank {} is the busiest, rank {} holds the most memory; --all shows "
      "all)\n",
      count - shown.numbers.size(), busiest(report), fullest(report));
  return shown;
}

std::string table_of(const ShownRanks& shown, const std::vector<std::string>& heads,
                     const std::function<std::vector<std::string>(std::size_t rank)>& cells) {
  std::vector<std::vector<std::string>> rows{{"rank"}};
  rows.back().insert(rows.back().end(), heads.begin(), heads.end());
  for (const std::size_t rank : shown.numbers) {
    rows.push_back(cells(rank));
    rows.back().insert(rows.back().begin(), fmt::format("{}", rank));
  }
  return aligned(rows) + shown.left_out;
}

std::string rank_table(const Report& report, const ShownRanks& ranks, TimeUnit unit) {
  std::vector<const Column*> said;
  std::vector<std::string> heads;
  for (const Column& column : columns) {
    if (!shown(column, report, unit)) continue;
    said.push_back(&column);
    heads.emplace_back(column.name);
  }
  return table_of(ranks, heads, [&](std::size_t rank) {
    std::vector<std::string> row;
    for (const Column* column : said) row.push_back(column->show(report.ranks[rank], unit));
    return row;
  });
}

/// Memory of ranks at their peaks, by kind; empty if there are fewer than three kinds.
std::string memory_table(const Report& report, const ShownRanks& ranks) {
  std::vector<std::size_t> kinds;
  std::vector<std::string> heads;
  for (std::uint8_t kind = 0; kind < buffer_kinds; ++kind) {
    const bool held =
        std::any_of(report.ranks.begin(), report.ranks.end(),
                    [&](const RankReport& rank) { return rank.memory.by_kind[kind] != 0; });
    if (!held) continue;
    kinds.push_back(kind);
    heads.emplace_back(name(BufferKind{kind}));
  }
  if (kinds.size() < 3) return "";
  return "\nmemory at the peak of each rank\n" + table_of(ranks, heads, [&](std::size_t rank) {
           std::vector<std::string> row;
           for (const std::size_t kind : kinds) {
             row.push_back(bytes_text(report.ranks[rank].memory.by_kind[kind]));
           }
           return row;
         });
}

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

std::string result_table(const RunResult& result, const ReportOptions& options) {
  std::string text = result.title + "\n";
  if (result.report) {
    const Report& report = *result.report;
    const TimeUnit unit = unit_for(report.makespan);
    const ShownRanks shown = shown_ranks(report, options);
    text += "\n" + run_summary(result);
    if (!result.notes.empty()) text += "\n" + numbered_notes(result);
    text += fmt::format("\ntimes in {}\n{}", unit.name, rank_table(report, shown, unit));
    text += memory_table(report, shown);
    if (!report.network.empty()) text += "\nnetwork\n" + network_table(report.network);
    if (!result.layout.codings.empty()) {
      const std::string codecs = codec_table(codec_report(result.layout), unit);
      if (!codecs.empty()) text += "\n" + codecs;
    }
    if (result.codec_training) text += "\n" + codec_training_text(*result.codec_training);
    if (result.repeated) text += "\n" + distribution_text(*result.repeated);
  }
  if (!result.profile_rows.empty()) text += "\n" + rows_text(result.profile_rows);
  return text + findings_text(result, options);
}

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
