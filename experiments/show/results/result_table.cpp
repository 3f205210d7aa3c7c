#include "experiments/show/results/result_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>
#include <set>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "experiments/input/files/table.hpp"
#include "experiments/input/profiles/profile_rows.hpp"
#include "experiments/run/codec_report.hpp"
#include "experiments/run/run.hpp"
#include "experiments/show/results/run_summary.hpp"

namespace penstock {
namespace {

/// One column of the rank table.
struct Column {
  const char* name;
  bool always;  // shown even if all ranks have the usual value
  std::variant<Time RankReport::*, Time IdleCauses::*, std::uint32_t RankReport::*,
               std::uint32_t WeightVersions::*, std::string (*)(const RankReport& rank)>
      value;
  std::string_view usual = "0";

  std::string text_of(const RankReport& rank, TimeUnit unit) const;
};

std::string Column::text_of(const RankReport& rank, TimeUnit unit) const {
  if (const auto* time = std::get_if<0>(&value)) return time_text(rank.**time, unit);
  if (const auto* cause = std::get_if<1>(&value)) {
    return time_text(rank.idle_by_cause.**cause, unit);
  }
  if (const auto* count = std::get_if<2>(&value)) return fmt::format("{}", rank.**count);
  if (const auto* count = std::get_if<3>(&value)) return fmt::format("{}", rank.weights.**count);
  return std::get<4>(value)(rank);
}

std::string idle_share_text(const RankReport& rank) {
  const double all = to_us(rank.busy + rank.idle);
  return all == 0 ? "0.0" : fmt::format("{:.1f}", to_us(rank.idle) / all * 100);
}

std::string peak_bytes_text(const RankReport& rank) {
  return rank.memory.bytes == 0 ? "0" : bytes_text(rank.memory.bytes);
}

constexpr std::array<Column, 17> columns{{
    {"start", true, &RankReport::start},
    {"end", true, &RankReport::end},
    {"busy", true, &RankReport::busy},
    {"idle", true, &RankReport::idle},
    {"idle %", true, idle_share_text},
    {"warm-up", false, &IdleCauses::warmup},
    {"drain", false, &IdleCauses::drain},
    {"dependency", false, &IdleCauses::dependency},
    {"contention", false, &IdleCauses::contention},
    {"transfer", false, &IdleCauses::transfer},
    {"memory", false, &IdleCauses::memory},
    {"launch", false, &IdleCauses::launch},
    {"actions", true, &RankReport::actions},
    {"peak act.", true, &RankReport::peak_activations},
    {"peak mem.", false, peak_bytes_text},
    {"versions", false, &WeightVersions::versions, "1"},
    {"staleness", false, &WeightVersions::staleness},
}};

/// Physical links, most used first; links used alike share a row.
std::string network_table(std::vector<NetworkLinkUse> network) {
  constexpr std::size_t most_links = 16;
  std::ranges::stable_sort(network, std::greater{}, &NetworkLinkUse::utilization);
  TableRows rows{{"link", "transfers", "carried", "used"}};
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

ShownRanks shown_ranks(const Report& report, const ReportOptions& options) {
  constexpr std::size_t most_rows = 10;
  ShownRanks shown;
  const std::size_t count = report.ranks.size();
  if (options.all || count <= most_rows) {
    for (std::size_t rank = 0; rank < count; ++rank) shown.numbers.push_back(rank);
    return shown;
  }
  const std::size_t busiest = index(busiest_of(report)), fullest = index(worst_of(report));
  const std::set<std::size_t> numbers{0, busiest, fullest, count - 1};
  shown.numbers.assign(numbers.begin(), numbers.end());
  shown.left_out = fmt::format(
      "({} ranks left out; rank {} is the busiest, rank {} holds the most memory; --all shows "
      "all)\n",
      count - numbers.size(), busiest, fullest);
  return shown;
}

/// `cells` are those after the rank's number.
template <class Cells>
std::string table_of(const ShownRanks& shown, TableRow heads, Cells cells) {
  heads.insert(heads.begin(), "rank");
  const auto row = [&](std::size_t rank) {
    TableRow all = cells(rank);
    all.insert(all.begin(), fmt::format("{}", rank));
    return all;
  };
  return aligned(table_rows(std::move(heads), shown.numbers, row)) + shown.left_out;
}

std::string rank_table(const Report& report, const ShownRanks& ranks, TimeUnit unit) {
  std::vector<const Column*> said;
  TableRow heads;
  for (const Column& column : columns) {
    const auto unusual = [&](const RankReport& rank) {
      return column.text_of(rank, unit) != column.usual;
    };
    if (!column.always && std::ranges::none_of(report.ranks, unusual)) continue;
    said.push_back(&column);
    heads.emplace_back(column.name);
  }
  return table_of(ranks, heads, [&](std::size_t rank) {
    TableRow row;
    for (const Column* column : said) row.push_back(column->text_of(report.ranks[rank], unit));
    return row;
  });
}

/// Memory of ranks at their peaks, by kind; empty if there are fewer than three kinds.
std::string memory_table(const Report& report, const ShownRanks& ranks) {
  const std::vector<BufferKind> kinds = kinds_held(report);
  if (kinds.size() < 3) return "";
  TableRow heads;
  for (const BufferKind kind : kinds) heads.emplace_back(name(kind));
  return "\nmemory at the peak of each rank\n" + table_of(ranks, heads, [&](std::size_t rank) {
           TableRow row;
           for (const BufferKind kind : kinds) {
             const BytesByKind& bytes = report.ranks[rank].memory.by_kind;
             row.push_back(bytes_text(bytes[static_cast<std::size_t>(kind)]));
           }
           return row;
         });
}

/// With hundreds of ranks, the worst ones suffice.
constexpr std::size_t most_findings = 10;

/// Out-of-memory findings of this run, worst first. Findings of a training phase belong to another
/// run.
std::vector<Finding> ranks_without_memory(const RunResult& result) {
  std::vector<Finding> ranks;
  if (!result.report || result.codec_training) return ranks;
  for (const Finding& finding : result.findings) {
    if (finding.kind == "out_of_memory" && finding.rank) ranks.push_back(finding);
  }
  return ranks;
}

/// When a rank reaches its peak, in which action, and what it holds: "parameters 5 GiB, stash 30
/// GiB".
std::string peak_text(const RunResult& result, const MemoryPeak& peak, TimeUnit unit) {
  const std::string action =
      peak.task == no_task ? "before any action" : "in " + task_text(*result.plan, peak.task);
  std::string held;
  for (std::uint8_t kind = 0; kind < buffer_kinds; ++kind) {
    if (peak.by_kind[kind] == 0) continue;
    held += fmt::format("{}{} {}", held.empty() ? "" : ", ", name(BufferKind{kind}),
                        bytes_text(peak.by_kind[kind]));
  }
  return fmt::format("peak at {} {} {}: {}", time_text(peak.time, unit), unit.name, action, held);
}

std::string memory_rows(const RunResult& result, const std::vector<Finding>& ranks,
                        const ReportOptions& options) {
  const std::uint64_t capacity = *result.layout.memory.capacity_bytes;
  const std::uint64_t usable = *result.layout.memory.usable_bytes();
  const TimeUnit unit = unit_for(result.report->makespan);
  const std::size_t shown = options.all ? ranks.size() : std::min(ranks.size(), most_findings);
  TableRows rows;
  for (std::size_t i = 0; i < shown; ++i) {
    const std::uint32_t rank = index(*ranks[i].rank);
    const std::uint64_t needed = result.memory[rank].peak_bytes;
    rows.push_back({fmt::format("rank {}", rank), bytes_of_rank_text(needed, capacity),
                    bytes_of_rank_text(needed - usable, capacity) + " over",
                    fmt::format("from {} {} on", time_text(*ranks[i].time, unit), unit.name)});
    if (options.verbose) {
      rows.back().push_back(peak_text(result, result.report->ranks[rank].memory, unit));
    }
  }
  std::string text = aligned(rows, {3, 4});
  if (shown == ranks.size()) return text;
  return text + fmt::format("({} more; --all shows them)\n", ranks.size() - shown);
}

std::string memory_text(const RunResult& result, const ReportOptions& options) {
  const std::vector<Finding> ranks = ranks_without_memory(result);
  if (ranks.empty()) return "";
  const std::uint64_t reserved = result.layout.memory.reserved_bytes();
  const std::string apart =
      reserved == 0 ? "" : fmt::format(", {} of it reserved", bytes_text(reserved));
  return fmt::format("\nfinding: out of memory: {} of {}, with a capacity of {} each{}\n{}",
                     ranks.size(), counted(result.report->ranks.size(), "rank"),
                     bytes_text(*result.layout.memory.capacity_bytes), apart,
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
    if (!report.network.empty()) {
      const bool grouped = result.layout.hardware.spec.devices_per_rank > 1;
      text += fmt::format("\nnetwork{}\n{}", grouped ? " of the first device of each rank" : "",
                          network_table(report.network));
    }
    if (!result.layout.codings.empty()) {
      const std::string codecs = codec_table(codec_report(result.layout), unit);
      if (!codecs.empty()) text += "\n" + codecs;
    }
    if (result.codec_training) text += "\n" + codec_training_text(*result.codec_training);
    if (result.batch) text += "\n" + batch_text(*result.batch, unit);
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
