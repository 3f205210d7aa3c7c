#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "experiments/input/files/json_output.hpp"
#include "experiments/input/files/table.hpp"
#include "experiments/run/codec_training.hpp"

namespace penstock {
namespace {

using Row = std::vector<std::string>;

std::string seconds_text(std::optional<double> microseconds) {
  return microseconds ? number_text(*microseconds * 1e-6) : "-";
}

std::string phases_text(const CodecTraining& training) {
  std::vector<Row> rows{{"phase", "from", "iterations", "stash", "bits", "step time", "all steps",
                         "peak mem.", "of rank"}};
  for (std::size_t p = 0; p < training.phases.size(); ++p) {
    const CodecTraining::Phase& phase = training.phases[p];
    const CodedIteration& one = phase.iteration;
    const auto time = [&](std::uint64_t count) -> std::optional<double> {
      if (!one.makespan) return std::nullopt;
      return static_cast<double>(count) * to_us(*one.makespan);
    };
    rows.push_back({fmt::format("{}", p), fmt::format("{}", phase.first_iteration),
                    fmt::format("{}", phase.iterations), encoding_text(one.stash),
                    number_text(one.bits_per_value), seconds_text(time(1)),
                    seconds_text(time(phase.iterations)), bytes_text(one.peak_bytes),
                    fmt::format("{}", one.peak_rank)});
  }
  return aligned(rows, {3});
}

std::string fits_text(const CodecTraining& training, std::uint64_t bytes) {
  if (!training.capacity_bytes) return "-";
  return bytes <= *training.capacity_bytes ? "yes" : "no";
}

Row total_row(const CodecTraining& training, const std::string& what, std::optional<double> time_us,
              std::uint64_t peak_bytes) {
  const std::optional<double> planned = training.time_us();
  const std::string against =
      planned && time_us && *planned > 0 ? signed_percent_text(*time_us / *planned - 1) : "-";
  return {what, seconds_text(time_us), against, bytes_text(peak_bytes),
          fits_text(training, peak_bytes)};
}

std::string totals_text(const CodecTraining& training) {
  const auto throughout = [&](const CodedIteration& one) {
    return total_row(training, encoding_text(one.stash) + " throughout",
                     training.time_us_throughout(one), one.peak_bytes);
  };
  std::vector<Row> rows{
      {"training", "takes", "vs these phases", "peak mem.", "fits"},
      total_row(training, "these phases", training.time_us(), training.peak_bytes())};
  const CodedIteration& finest = training.finest();
  if (finest.stash.index() != 0) rows.push_back(throughout(finest));
  rows.push_back(throughout(training.plain));
  return aligned(rows, {0});
}

ordered_json known(const std::optional<double>& value) {
  return value ? ordered_json(*value) : ordered_json();
}

ordered_json iteration_json(const CodedIteration& one) {
  return {{"stash", encoding_json(one.stash)},
          {"bits_per_value", one.bits_per_value},
          {"iteration_us", one.makespan ? ordered_json(to_us(*one.makespan)) : ordered_json()},
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
  document["training_us"] = known(training.time_us_throughout(one));
  return document;
}

}  // namespace

std::string codec_training_text(const CodecTraining& training) {
  return fmt::format("formats over {} iterations, in s; the report shows phase 0\n{}\n{}",
                     training.iterations(), phases_text(training), totals_text(training));
}

ordered_json codec_training_json(const CodecTraining& training) {
  ordered_json phases = ordered_json::array();
  for (const CodecTraining::Phase& phase : training.phases) phases.push_back(phase_json(phase));
  return {{"iterations", training.iterations()},
          {"training_us", known(training.time_us())},
          {"peak_memory_bytes", training.peak_bytes()},
          {"phases", std::move(phases)},
          {"finest_throughout", throughout_json(training, training.finest())},
          {"none_throughout", throughout_json(training, training.plain)}};
}

}  // namespace penstock
