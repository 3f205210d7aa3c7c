#include <algorithm>
#include <cstddef>
#include <nlohmann/json.hpp>
#include <utility>

#include "experiments/input/files/quantity.hpp"
#include "experiments/input/files/setting.hpp"
#include "experiments/input/files/table.hpp"
#include "experiments/input/scenario/codec_choice.hpp"
#include "experiments/program/commands/registry.hpp"
#include "hardware_models/codecs/coding/distribution.hpp"
#include "hardware_models/codecs/reference/codec.hpp"
#include "hardware_models/codecs/registry.hpp"

namespace penstock::codec_table_file {
namespace {

constexpr double gibibyte = 1U << 30;
constexpr double plain_bits = 16;  // of bf16

/// A format, with its errors on values of several distributions.
struct TriedFormat {
  CodecSpec codec;
  double bits_per_value = 0;
  std::vector<CodecError> errors;  // by distribution

  /// Bytes that encoding a GiB of bf16 reads and writes; decoding to a GiB moves the same.
  double moved_bytes_per_gib() const {
    return bytes_moved(gibibyte, gibibyte * bits_per_value / plain_bits);
  }
};

/// The formats of a codec, compared.
struct CodecTrial {
  std::optional<double> bandwidth_bytes_per_s;  // of the memory used for coding
  std::vector<NamedDistribution> distributions;
  std::vector<TriedFormat> formats;
};

using Row = std::vector<std::string>;

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
/// Tries a codec on `values` values of each distribution of the trial, at each possible number of
/// bits unless it is given. Throws InputError whose place is a pointer below the codec.
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

constexpr std::uint32_t most_values = 1U << 22;

struct Options : Arguments {
  Text name = line.required_choice("NAME", words_of(codec_entries()), "a codec");
  Texts settings = line.list("--set", "one of its options (penstock list codecs)", "KEY=VALUE");
  Text distribution = line.choice("--distribution", words_of(named_distributions()),
                                  "try it on these values alone");
  Number values = line.number("--values", "how many values to try it on, 32768 otherwise");
  Text bandwidth =
      line.option("--bandwidth", "of the memory that coding reads and writes", "BYTES_PER_S");
  Flag json = line.json();
};

CodecSpec codec_of(const Options& options) {
  CodecSpec codec{options.name, {}};
  for (const std::string& setting : options.settings) {
    const auto [key, value] = option_setting(setting, "codec");
    codec.numbers[key] = number_of("--set " + setting, value);
  }
  return codec;
}

std::vector<NamedDistribution> distributions_of(const Options& options) {
  std::vector<NamedDistribution> all;
  for (const NamedDistribution& one : named_distributions()) {
    if (options.distribution.empty() || options.distribution == one.name) all.push_back(one);
  }
  return all;
}

int show_codec(const Options& options) {
  CodecTrial trial{.bandwidth_bytes_per_s = quantity_if_given("--bandwidth", options.bandwidth,
                                                              QuantityKind::bytes_per_s),
                   .distributions = distributions_of(options),
                   .formats = {}};
  const std::size_t values =
      options.values ? within("--values", options.values, most_values) : tried_values;
  try {
    try_formats(codec_of(options), values, trial);
  } catch (const InputError& error) {
    const std::string key = error.where().empty() ? "" : " " + error.where().substr(1);
    throw UsageError(fmt::format("--set{}: {}", key, error.what()));
  }
  show(options.json ? printed(codec_trial_json(trial)) : codec_trial_text(trial));
  return ExitCode::done;
}

}  // namespace

constinit extern const CommandEntry codec_table_entry{
    .name = "codec",
    .summary = "show what a codec saves and costs: bits, memory traffic, error",
    .group = CommandGroup::plan,
    .example = "penstock codec bfp --set block=32 --bandwidth 2e12",
    .declare = command<Options, show_codec>,
};

}  // namespace penstock::codec_table_file
