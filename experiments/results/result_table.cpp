#include "experiments/results/result_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "experiments/files/table.hpp"
#include "experiments/profiles/profile_rows.hpp"

namespace penstock {
namespace {

/// One column of the table of ranks: what it shows of each.
struct Column {
  const char* name;
  bool always;  // shown even when it says nothing of any rank
  std::string (*show)(const RankReport& rank, TimeUnit unit);
  std::string_view usual = "0";  // says nothing where every rank has it
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

/// Whether a column says anything.
bool shown(const Column& column, const Report& report, TimeUnit unit) {
  return column.always ||
         std::any_of(report.ranks.begin(), report.ranks.end(), [&](const RankReport& rank) {
           return column.show(rank, unit) != column.usual;
         });
}

/// The physical links that were used most, first.
std::string network_table(std::vector<NetworkLinkUse> network) {
  constexpr std::size_t most_links = 16;
  std::stable_sort(network.begin(), network.end(), [](const auto& one, const auto& other) {
    return one.utilization > other.utilization;
  });
  std::vector<std::vector<std::string>> rows{{"link", "transfers", "carried", "used"}};
  for (const NetworkLinkUse& link : network) {
    if (rows.size() > most_links) break;
    rows.push_back({link.name, fmt::format("{}", link.transfers), bytes_text(link.bytes),
                    percent_text(link.utilization)});
  }
  std::string text = aligned(rows, {0});
  if (network.size() > most_links) {
    text += fmt::format("({} links that were used less are left out; --json has all)\n",
                        network.size() - most_links);
  }
  return text;
}

std::string rank_table(const Report& report, TimeUnit unit) {
  std::vector<const Column*> said;
  std::vector<std::string> heads;
  for (const Column& column : columns) {
    if (!shown(column, report, unit)) continue;
    said.push_back(&column);
    heads.emplace_back(column.name);
  }
  return table_of_ranks(report.ranks.size(), heads, [&](std::size_t rank) {
    std::vector<std::string> row;
    for (const Column* column : said) row.push_back(column->show(report.ranks[rank], unit));
    return row;
  });
}

/// What ranks held at their peaks, by kind; nothing where a sum of two kinds says as much.
std::string memory_table(const Report& report) {
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
  return "\nmemory of each rank at its peak\n" +
         table_of_ranks(report.ranks.size(), heads, [&](std::size_t rank) {
           std::vector<std::string> row;
           for (const std::size_t kind : kinds) {
             row.push_back(bytes_text(report.ranks[rank].memory.by_kind[kind]));
           }
           return row;
         });
}

std::string throughput_text(const Throughput& throughput) {
  std::string text = fmt::format("throughput  {} samples/s", number_text(throughput.samples_per_s));
  if (throughput.tokens_per_s) {
    text += fmt::format(", {} tokens/s", number_text(*throughput.tokens_per_s));
  }
  text += "\n";
  if (throughput.model_flops_utilization) {
    text +=
        fmt::format("utilization {} of the peak for the model (MFU), {} with recomputation (HFU)\n",
                    percent_text(*throughput.model_flops_utilization),
                    percent_text(*throughput.hardware_flops_utilization));
  }
  return text;
}

std::string summary(const RunResult& result, TimeUnit unit) {
  const Report& report = *result.report;
  std::string text;
  text += fmt::format("makespan    {} {}\n", time_text(report.makespan, unit), unit.name);
  text +=
      fmt::format("bubble      {} of makespan, {} over ideal, {} of the longest span\n",
                  percent_text(report.bubble.of_makespan), percent_text(report.bubble.over_ideal),
                  percent_text(report.bubble.of_longest_span));
  text += throughput_text(result.throughput);
  if (result.first_iteration_us) {
    const double first = *result.first_iteration_us * 1e6 / static_cast<double>(unit.picoseconds);
    text += fmt::format("first       {} {} with the warm-up of the first iteration\n",
                        number_text(first), unit.name);
  }
  if (result.steady_interval_us) {
    const double interval =
        *result.steady_interval_us * 1e6 / static_cast<double>(unit.picoseconds);
    text += fmt::format("steady      {} {} a microbatch\n", number_text(interval), unit.name);
  }
  return text;
}

}  // namespace

std::string result_table(const RunResult& result) {
  std::string text = result.title + "\n";
  if (result.report) {
    const TimeUnit unit = unit_for(result.report->makespan);
    text += summary(result, unit);
    text += fmt::format("\ntimes in {}\n{}", unit.name, rank_table(*result.report, unit));
    text += memory_table(*result.report);
    if (!result.report->network.empty()) {
      text += fmt::format("\nnetwork\n{}", network_table(result.report->network));
    }
    if (result.codec) {
      const std::string codecs = codec_table(*result.codec, unit);
      if (!codecs.empty()) text += "\n" + codecs;
    }
    if (result.codec_training) text += "\n" + codec_training_text(*result.codec_training);
    if (result.repeated) text += "\n" + distribution_text(*result.repeated);
  }
  if (!result.profile_rows.empty()) text += "\n" + rows_text(result.profile_rows);
  for (const std::string& note : result.notes) text += fmt::format("\nnote: {}\n", note);
  for (const Finding& finding : result.findings) {
    const bool says_kind = finding.text.starts_with(finding.kind + ":");
    text += fmt::format("\nfinding: {}{}\n", says_kind ? "" : finding.kind + ": ", finding.text);
  }
  return text;
}

}  // namespace penstock
