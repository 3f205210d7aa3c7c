#include "experiments/plan/studies/codec_trial.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "experiments/input/files/json_output.hpp"
#include "experiments/input/files/table.hpp"
#include "experiments/input/scenario/codec_choice.hpp"
#include "hardware_models/codecs/reference/codec_search.hpp"

namespace penstock {
namespace {

using Row = std::vector<std::string>;

constexpr double gibibyte = 1U << 30;
constexpr double plain_bits = 16;  // of bf16

/// The codec with each number of bits, unless the bits are set.
std::vector<CodecSpec> formats_of(const CodecSpec& codec) {
  const auto& parameters = codec_entry(codec).parameters;
  const auto bits = std::find_if(parameters.begin(), parameters.end(),
                                 [](const Parameter& one) { return one.name == "bits"; });
  if (bits == parameters.end() || codec.numbers.contains("bits")) return {codec};
  std::vector<CodecSpec> formats;
  for (double count = bits->least; count <= bits->most; ++count) {
    formats.push_back(codec);
    formats.back().numbers["bits"] = count;
  }
  return formats;
}

ordered_json errors_json(const TriedFormat& format, const CodecTrial& trial) {
  ordered_json errors = ordered_json::object();
  for (std::size_t d = 0; d < trial.distributions.size(); ++d) {
    const CodecError& error = format.errors[d];
    errors[std::string(trial.distributions[d].name)] = {{"sqnr_db", error.sqnr_db},
                                                        {"most_half_steps", error.most_half_steps},
                                                        {"flushed_share", error.flushed_share}};
  }
  return errors;
}

}  // namespace

double TriedFormat::moved_bytes_per_gib() const {
  return bytes_moved(gibibyte, gibibyte * bits_per_value / plain_bits);
}

void try_formats(const CodecSpec& codec, std::size_t values, CodecTrial& trial) {
  for (const CodecSpec& format : formats_of(codec)) {
    trial.formats.push_back({format, bits_per_value(format), {}});
  }
  for (const NamedDistribution& one : trial.distributions) {
    const std::vector<float> drawn = draw_activations(one.values, values);
    for (TriedFormat& format : trial.formats) {
      format.errors.push_back(measured(fitted_to(one.values, format.codec), drawn).error);
    }
  }
}

std::string codec_trial_text(const CodecTrial& trial) {
  const auto& bandwidth = trial.bandwidth_bytes_per_s;
  Row heads{"codec", "bits a value", "ratio"};
  heads.push_back(bandwidth ? "ms a GiB" : "moved a GiB");
  for (const NamedDistribution& one : trial.distributions) {
    heads.push_back(fmt::format("{} dB", one.name));
    heads.insert(heads.end(), {"half steps", "flushed"});
  }
  std::vector<Row> rows{heads};
  for (const TriedFormat& format : trial.formats) {
    const double moved = format.moved_bytes_per_gib();
    rows.push_back({encoding_text(format.codec), number_text(format.bits_per_value),
                    fmt::format("{:.2f}", plain_bits / format.bits_per_value),
                    bandwidth ? fmt::format("{:.3f}", moved / *bandwidth * 1e3)
                              : bytes_text(static_cast<std::uint64_t>(moved))});
    for (const CodecError& error : format.errors) {
      rows.back().push_back(fmt::format("{:.1f}", error.sqnr_db));
      rows.back().push_back(fmt::format("{:.2f}", error.most_half_steps));
      rows.back().push_back(percent_text(error.flushed_share));
    }
  }
  return aligned(rows, {0});
}

ordered_json codec_trial_json(const CodecTrial& trial) {
  const auto& bandwidth = trial.bandwidth_bytes_per_s;
  ordered_json all = ordered_json::array();
  for (const TriedFormat& format : trial.formats) {
    const double moved = format.moved_bytes_per_gib();
    all.push_back(
        {{"codec", encoding_json(format.codec)},
         {"bits_per_value", format.bits_per_value},
         {"ratio", plain_bits / format.bits_per_value},
         {"moved_bytes_per_gib", moved},
         {"us_per_gib", bandwidth ? ordered_json(moved / *bandwidth * 1e6) : ordered_json()},
         {"errors", errors_json(format, trial)}});
  }
  return {{"penstock", 1}, {"formats", std::move(all)}};
}

}  // namespace penstock
