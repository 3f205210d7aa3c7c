#include "experiments/run/codec_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "experiments/input/files/json_output.hpp"
#include "experiments/input/files/table.hpp"
#include "experiments/run/layout/codec_costs.hpp"

namespace penstock {
namespace {

using Row = std::vector<std::string>;

void add_format(const std::optional<Coded>& coded, const std::vector<float>& values,
                CodecReport& report) {
  if (!coded) return;
  const bool known = std::ranges::any_of(
      report.formats, [&](const MeasuredCodec& format) { return format.codec == coded->codec; });
  if (!known) report.formats.push_back(measured(coded->codec, values));
}

std::string time_text(double microseconds, TimeUnit unit) {
  return number_text(microseconds * 1e6 / static_cast<double>(unit.picoseconds));
}

Row cells_of(const CodecReport& report, const std::optional<Coded>& coded, TimeUnit unit) {
  if (!coded) return {"none", number_text(report.plain_bits), "1", "-", "-", "-", "-", "-"};
  const MeasuredCodec& format = report.measured_as(coded->codec);
  return {encoding_text(coded->codec),
          number_text(format.bits_per_value),
          fmt::format("{:.2f}", report.plain_bits / format.bits_per_value),
          bytes_text(static_cast<std::uint64_t>(std::llrint(coded->packed_bytes))),
          time_text(coded->encode_us, unit),
          time_text(coded->decode_us, unit),
          fmt::format("{:.1f}", format.error.sqnr_db),
          percent_text(format.error.flushed_share)};
}

/// Consecutive equal stages share a row.
std::vector<Row> rows_of(const CodecReport& report, std::optional<Coded> StageCoding::*what,
                         TimeUnit unit) {
  std::vector<Row> rows;
  std::size_t first = 0;
  for (std::size_t stage = 0; stage < report.stages.size(); ++stage) {
    Row cells = cells_of(report, report.stages[stage].*what, unit);
    const bool goes_on = !rows.empty() && std::equal(cells.begin(), cells.end(),
                                                     rows.back().begin() + 1, rows.back().end());
    if (!goes_on) {
      first = stage;
      cells.insert(cells.begin(), "");
      rows.push_back(std::move(cells));
    }
    rows.back().front() =
        first == stage ? fmt::format("{}", stage) : fmt::format("{}-{}", first, stage);
  }
  return rows;
}

std::string table_of(const CodecReport& report, const char* title,
                     std::optional<Coded> StageCoding::*what, TimeUnit unit) {
  const bool any = std::ranges::any_of(
      report.stages, [&](const StageCoding& stage) { return (stage.*what).has_value(); });
  if (!any) return "";
  std::vector<Row> rows{
      {"stage", "codec", "bits", "ratio", "packed", "encode", "decode", "SQNR dB", "flushed"}};
  for (Row& row : rows_of(report, what, unit)) rows.push_back(std::move(row));
  return fmt::format("{}\n{}", title, aligned(rows, {1}));
}

ordered_json coded_json(const CodecReport& report, const std::optional<Coded>& coded) {
  if (!coded) return {};
  const MeasuredCodec& format = report.measured_as(coded->codec);
  return {{"codec", encoding_json(coded->codec)},
          {"bits_per_value", format.bits_per_value},
          {"ratio", report.plain_bits / format.bits_per_value},
          {"plain_bytes", coded->plain_bytes},
          {"packed_bytes", coded->packed_bytes},
          {"encode_us", coded->encode_us},
          {"decode_us", coded->decode_us},
          {"sqnr_db", format.error.sqnr_db},
          {"most_half_steps", format.error.most_half_steps},
          {"flushed_share", format.error.flushed_share}};
}

ordered_json looks_json(const Looks& looks) {
  if (!looks.name.empty()) return looks.name;
  return {{"tail_share", looks.values.tail_share},
          {"tail_factor", looks.values.tail_factor},
          {"rectified", looks.values.rectified}};
}

}  // namespace

const MeasuredCodec& CodecReport::measured_as(const CodecSpec& codec) const {
  return *std::ranges::find(formats, codec, &MeasuredCodec::codec);
}

CodecReport codec_report(const Layout& layout) {
  CodecReport report{.looks = layout.codec.looks,
                     .plain_bits = 8 * plain_value_bytes(layout),
                     .stages = layout.codings,
                     .formats = {}};
  const std::vector<float> values = draw_activations(report.looks.values, tried_values);
  for (const StageCoding& stage : report.stages) {
    add_format(stage.stash, values, report);
    add_format(stage.link, values, report);
  }
  return report;
}

double stash_bits(const CodecReport& report) {
  double kept = 0, bits = 0;
  for (const StageCoding& stage : report.stages) {
    kept += stage.kept_bytes;
    const double coded = stage.stash ? stage.stash->plain_bytes : 0;
    bits += (stage.kept_bytes - coded) * report.plain_bits;
    if (coded > 0) bits += coded * report.measured_as(stage.stash->codec).bits_per_value;
  }
  return kept == 0 ? report.plain_bits : bits / kept;
}

std::string codec_table(const CodecReport& report, TimeUnit unit) {
  const std::string values =
      report.looks.name.empty() ? "values as given" : report.looks.name + " values";
  std::string text;
  const auto add = [&](const std::string& table) {
    text += (text.empty() || table.empty() ? "" : "\n") + table;
  };
  add(table_of(
      report,
      fmt::format("stashes, encoded; times of a cell in {}, errors on {}", unit.name, values)
          .c_str(),
      &StageCoding::stash, unit));
  add(table_of(report, "what stages hand on, encoded", &StageCoding::link, unit));
  return text;
}

ordered_json codec_json(const CodecReport& report) {
  ordered_json stages = ordered_json::array();
  for (std::size_t stage = 0; stage < report.stages.size(); ++stage) {
    stages.push_back({{"stage", stage},
                      {"stash", coded_json(report, report.stages[stage].stash)},
                      {"link", coded_json(report, report.stages[stage].link)}});
  }
  return {{"distribution", looks_json(report.looks)}, {"stages", std::move(stages)}};
}

std::uint64_t CodecTraining::iterations() const {
  return phases.back().first_iteration + phases.back().iterations;
}

std::uint64_t CodecTraining::peak_bytes() const {
  std::uint64_t most = 0;
  for (const Phase& phase : phases) {
    if (phase.iterations > 0) most = std::max(most, phase.iteration.peak_bytes);
  }
  return most;
}

std::optional<double> CodecTraining::time_us() const {
  double sum = 0;
  for (const Phase& phase : phases) {
    if (phase.iterations == 0) continue;
    if (!phase.iteration.makespan) return std::nullopt;
    sum += static_cast<double>(phase.iterations) * to_us(*phase.iteration.makespan);
  }
  return sum;
}

std::optional<double> CodecTraining::time_us_throughout(const CodedIteration& iteration) const {
  if (!iteration.makespan) return std::nullopt;
  return static_cast<double>(iterations()) * to_us(*iteration.makespan);
}

const CodedIteration& CodecTraining::finest() const {
  const auto bits = [](const Phase& phase) { return phase.iteration.bits_per_value; };
  return std::ranges::max_element(phases, {}, bits)->iteration;
}

}  // namespace penstock
