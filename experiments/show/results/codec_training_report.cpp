#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "experiments/input/files/json_output.hpp"
#include "experiments/input/files/table.hpp"
#include "experiments/run/codec_report.hpp"

namespace penstock {
namespace {

std::string seconds_text(std::optional<double> microseconds) {
  return microseconds ? number_text(*microseconds * 1e-6) : "-";
}

std::string phases_text(const CodecTraining& training) {
  std::size_t number = 0;
  const auto cells = [&](const CodecTraining::Phase& phase) -> TableRow {
    const CodedIteration& one = phase.iteration;
    const auto time = [&](std::uint64_t count) -> std::optional<double> {
      if (!one.makespan) return std::nullopt;
      return static_cast<double>(count) * to_us(*one.makespan);
    };
    return {fmt::format("{}", number++),          fmt::format("{}", phase.first_iteration),
            fmt::format("{}", phase.iterations),  encoding_text(one.stash),
            number_text(one.bits_per_value),      seconds_text(time(1)),
            seconds_text(time(phase.iterations)), bytes_text(one.peak_bytes),
            fmt::format("{}", one.peak_rank)};
  };
  return aligned(table_rows({"phase", "from", "iterations", "stash", "bits", "step time",
                             "all steps", "peak mem.", "of rank"},
                            training.phases, cells),
                 {3});
}

TableRow total_row(const CodecTraining& training, const std::string& what,
                   std::optional<double> time_us, std::uint64_t peak_bytes) {
  const std::optional<double> planned = training.time_us();
  const std::string against =
      planned && time_us && *planned > 0 ? signed_percent_text(*time_us / *planned - 1) : "-";
  const auto& capacity = training.capacity_bytes;
  return {what, seconds_text(time_us), against, bytes_text(peak_bytes),
          !capacity                 ? "-"
          : peak_bytes <= *capacity ? "yes"
                                    : "no"};
}

std::string totals_text(const CodecTraining& training) {
  const auto throughout = [&](const CodedIteration& one) {
    return total_row(training, encoding_text(one.stash) + " throughout",
                     training.time_us_throughout(one), one.peak_bytes);
  };
  TableRows rows{{"training", "takes", "vs these phases", "peak mem.", "fits"},
                 total_row(training, "these phases", training.time_us(), training.peak_bytes())};
  const CodedIteration& finest = training.finest();
  if (finest.stash.index() != 0) rows.push_back(throughout(finest));
  rows.push_back(throughout(training.plain));
  return aligned(rows, {0});
}

ordered_json iteration_json(const CodedIteration& one) {
  return {{"stash", encoding_json(one.stash)},
          {"bits_per_value", one.bits_per_value},
          {"iteration_us", or_null(one.makespan, to_us)},
          {"peak_memory_bytes", one.peak_bytes},
          {"peak_rank", one.peak_rank}};
}

ordered_json phase_json(const CodecTraining::Phase& phase) {
  ordered_json document{{"first_iteration", phase.first_iteration},
                        {"iterations", phase.iterations}};
  document.update(iteration_json(phase.iteration));
  return document;
}

ordered_json throughout_json(const CodecTraining& training, const CodedIteration& one) {
  ordered_json document = iteration_json(one);
  document["training_us"] = or_null(training.time_us_throughout(one));
  return document;
}

}  // namespace

std::string codec_training_text(const CodecTraining& training) {
  return fmt::format("formats over {} iterations, in s; the report shows phase 0\n{}\n{}",
                     training.iterations(), phases_text(training), totals_text(training));
}

ordered_json codec_training_json(const CodecTraining& training) {
  return {{"iterations", training.iterations()},
          {"training_us", or_null(training.time_us())},
          {"peak_memory_bytes", training.peak_bytes()},
          {"phases", list_json(training.phases, phase_json)},
          {"finest_throughout", throughout_json(training, training.finest())},
          {"none_throughout", throughout_json(training, training.plain)}};
}

}  // namespace penstock
