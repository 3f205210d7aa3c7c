#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

#include "experiments/input/files/json_output.hpp"
#include "experiments/input/files/table.hpp"
#include "experiments/show/results/result_json.hpp"
#include "experiments/show/results/result_table.hpp"

namespace penstock {
namespace {

const PackedMicrobatch& packed_at(const BatchReport& report, std::uint32_t replica,
                                  Microbatch microbatch) {
  return report.batch.replicas[replica][index(microbatch)].packed;
}

/// The least and the most that a microbatch has.
std::pair<double, double> range_of(const StepBatch& batch, double PackedMicrobatch::*number) {
  const double mean = batch.mean().packed.*number;
  std::pair range{mean, mean};
  for (const ReplicaBatch& replica : batch.replicas) {
    for (const StepMicrobatch& one : replica) {
      range.first = std::min(range.first, one.packed.*number);
      range.second = std::max(range.second, one.packed.*number);
    }
  }
  return range;
}

ordered_json microbatch_json(const BatchReport& report, const StepMicrobatch& one) {
  const PackedMicrobatch& packed = one.packed;
  ordered_json json{{"tokens", packed.tokens},
                    {"documents", packed.documents},
                    {"longest_document", packed.longest}};
  if (report.pictures_per_token > 0) {
    json["picture_tokens"] = report.pictures_per_token * packed.pictured;
  }
  if (one.loads.empty()) return json;
  double sum = 0;
  for (const double load : one.loads) sum += load;
  json["expert_load"] = sum / static_cast<double>(one.loads.size());
  return json;
}

ordered_json peak_json(const BatchReport& report) {
  const BatchPeak& peak = report.peak;
  ordered_json json{{"bytes", peak.bytes},      {"replica", peak.replica},
                    {"rank", index(peak.rank)}, {"time_us", to_us(peak.time)},
                    {"stage", nullptr},         {"microbatch", nullptr}};
  if (!peak.microbatch) return json;
  json["stage"] = index(*peak.stage);
  json["microbatch"] = index(*peak.microbatch);
  json["tokens"] = packed_at(report, peak.replica, *peak.microbatch).tokens;
  return json;
}

std::string peak_text(const BatchReport& report) {
  const BatchPeak& peak = report.peak;
  if (peak.bytes == 0) return "";
  std::string text =
      fmt::format("worst memory: {} on rank {}", bytes_text(peak.bytes), index(peak.rank));
  if (report.batch.replicas.size() > 1) text += fmt::format(" of replica {}", peak.replica);
  if (!peak.microbatch) return text + "\n";
  return text + fmt::format(", in microbatch {} of stage {} ({} tokens)\n", index(*peak.microbatch),
                            index(*peak.stage),
                            number_text(packed_at(report, peak.replica, *peak.microbatch).tokens));
}

}  // namespace

ordered_json batch_json(const BatchReport& report) {
  constexpr std::size_t most_listed = 10'000;
  const PackedMicrobatch all = report.batch.sum();
  const auto [least, most] = range_of(report.batch, &PackedMicrobatch::tokens);
  const ReplicaBatch& shown = report.batch.replicas[report.slowest];
  return {{"documents", all.documents},
          {"tokens", all.tokens},
          {"longest_document", all.longest},
          {"replicas", report.batch.replicas.size()},
          {"microbatch_tokens",
           {{"full", report.full_tokens},
            {"mean", report.batch.mean().packed.tokens},
            {"least", least},
            {"most", most}}},
          {"step_us", to_us(report.step)},
          {"equal_us", to_us(report.equal)},
          {"lost_us",
           {{"pipeline", to_us(report.pipeline)},
            {"experts", to_us(report.experts)},
            {"replicas", to_us(report.replicas)}}},
          {"slowest_replica", report.slowest},
          {"worst_memory", peak_json(report)},
          {"microbatches",
           list_json(std::span(shown).first(std::min(most_listed, shown.size())),
                     [&](const StepMicrobatch& one) { return microbatch_json(report, one); })}};
}

std::string batch_text(const BatchReport& report, TimeUnit unit) {
  const PackedMicrobatch all = report.batch.sum();
  const auto [least, most] = range_of(report.batch, &PackedMicrobatch::tokens);
  std::string text =
      fmt::format("batch: {} of {} tokens in {}; {} to {} tokens each, mean {}, full {}\n",
                  counted(all.documents, "document"), number_text(all.tokens),
                  counted(report.batch.replicas.size() * report.batch.replicas.front().size(),
                          "microbatch", "microbatches"),
                  number_text(least), number_text(most),
                  number_text(report.batch.mean().packed.tokens), number_text(report.full_tokens));
  if (report.pictures_per_token > 0) {
    const auto [fewest, largest] = range_of(report.batch, &PackedMicrobatch::pictured);
    text +=
        fmt::format("pictures: {} to {} tokens of a microbatch, mean {}\n",
                    number_text(report.pictures_per_token * fewest),
                    number_text(report.pictures_per_token * largest),
                    number_text(report.pictures_per_token * report.batch.mean().packed.pictured));
  }
  const double step = to_us(report.step);
  TableRows rows{{"step time in " + std::string(unit.name), "", "% of step"}};
  const std::array<std::pair<std::string_view, Time>, 5> parts{
      {{"equal microbatches", report.equal},
       {"microbatches of a replica differ", report.pipeline},
       {"busiest experts", report.experts},
       {"slowest replica", report.replicas},
       {"step", report.step}}};
  for (const auto& [name, time] : parts) {
    const bool always = name == "step" || name == "equal microbatches";
    if (!always && time == Time{}) continue;
    rows.push_back({std::string(name), time_text(time, unit),
                    fmt::format("{:.1f}", step == 0 ? 0 : 100 * to_us(time) / step)});
  }
  text += aligned(rows, {0});
  if (report.batch.replicas.size() > 1) {
    text += fmt::format("the report shows replica {}, the slowest\n", report.slowest);
  }
  return text + peak_text(report);
}

}  // namespace penstock
