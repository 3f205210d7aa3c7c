#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>
#include <utility>

#include "experiments/codec_choice.hpp"
#include "experiments/commands/registry.hpp"
#include "experiments/json_output.hpp"
#include "experiments/table.hpp"
#include "hardware_models/codecs/codec_search.hpp"
#include "sim/error.hpp"

namespace penstock {
namespace {

using json = nlohmann::ordered_json;
using Row = std::vector<std::string>;

constexpr std::uint32_t most_values = 1U << 22;
constexpr double gibibyte = 1U << 30;
constexpr double plain_bits = 16;

struct Options {
  std::string name;
  std::vector<std::string> settings;
  std::optional<std::uint32_t> values;
  std::string distribution;
  std::string bandwidth;
  bool json = false;
};

/// A format on all the distributions that it is tried on.
struct TriedFormat {
  CodecSpec codec;
  double bits_per_value = 0;
  std::vector<CodecError> errors;  // by distribution

  double moved_bytes() const {
    return bytes_moved(gibibyte, gibibyte * bits_per_value / plain_bits);
  }
};

double number_of(const std::string& text, const std::string& option) {
  double value = 0;
  const char* end = text.data() + text.size();
  const auto read = std::from_chars(text.data(), end, value);
  if (read.ec == std::errc() && read.ptr == end) return value;
  throw UsageError(fmt::format("{}: \"{}\" is no number", option, text));
}

CodecSpec codec_of(const Options& options) {
  CodecSpec codec{options.name, {}};
  for (const std::string& setting : options.settings) {
    const std::size_t equals = setting.find('=');
    if (equals == std::string::npos) {
      throw UsageError(fmt::format("--set {}: it must read key=value", setting));
    }
    codec.numbers[setting.substr(0, equals)] =
        number_of(setting.substr(equals + 1), "--set " + setting);
  }
  return codec;
}

/// The codec with each number of bits, unless these are set.
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

std::vector<NamedDistribution> distributions_of(const Options& options) {
  std::vector<NamedDistribution> all;
  for (const NamedDistribution& one : named_distributions()) {
    if (options.distribution.empty() || options.distribution == one.name) all.push_back(one);
  }
  return all;
}

std::vector<TriedFormat> tried(const Options& options,
                               const std::vector<NamedDistribution>& distributions) {
  const std::size_t count =
      options.values ? within("--values", options.values, most_values) : tried_values;
  std::vector<TriedFormat> all;
  for (const CodecSpec& codec : formats_of(codec_of(options))) {
    all.push_back({codec, bits_per_value(codec), {}});
  }
  for (const NamedDistribution& one : distributions) {
    const std::vector<float> values = draw_activations(one.values, count);
    for (TriedFormat& format : all) {
      format.errors.push_back(measured(fitted_to(one.values, format.codec), values).error);
    }
  }
  return all;
}

std::optional<double> bandwidth_of(const Options& options) {
  if (options.bandwidth.empty()) return std::nullopt;
  const double bandwidth = number_of(options.bandwidth, "--bandwidth");
  if (bandwidth >= 1 && bandwidth <= 1e18) return bandwidth;
  throw UsageError("--bandwidth: it must be from 1 to 1e18 bytes a second");
}

std::string text_of(const std::vector<TriedFormat>& formats,
                    const std::vector<NamedDistribution>& distributions,
                    std::optional<double> bandwidth) {
  Row heads{"codec", "bits a value", "ratio"};
  heads.push_back(bandwidth ? "ms a GiB" : "moved a GiB");
  for (const NamedDistribution& one : distributions) {
    heads.push_back(fmt::format("{} dB", one.name));
    heads.insert(heads.end(), {"half steps", "flushed"});
  }
  std::vector<Row> rows{heads};
  for (const TriedFormat& format : formats) {
    const double moved = format.moved_bytes();
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

json json_of(const std::vector<TriedFormat>& formats,
             const std::vector<NamedDistribution>& distributions, std::optional<double> bandwidth) {
  json all = json::array();
  for (const TriedFormat& format : formats) {
    const double moved = format.moved_bytes();
    json errors = json::object();
    for (std::size_t d = 0; d < distributions.size(); ++d) {
      const CodecError& error = format.errors[d];
      errors[std::string(distributions[d].name)] = {{"sqnr_db", error.sqnr_db},
                                                    {"most_half_steps", error.most_half_steps},
                                                    {"flushed_share", error.flushed_share}};
    }
    all.push_back({{"codec", encoding_json(format.codec)},
                   {"bits_per_value", format.bits_per_value},
                   {"ratio", plain_bits / format.bits_per_value},
                   {"moved_bytes_per_gib", moved},
                   {"us_per_gib", bandwidth ? json(moved / *bandwidth * 1e6) : json()},
                   {"errors", std::move(errors)}});
  }
  return {{"penstock", 1}, {"formats", std::move(all)}};
}

int show_codec(const Options& options) {
  const std::optional<double> bandwidth = bandwidth_of(options);
  const std::vector<NamedDistribution> distributions = distributions_of(options);
  try {
    const std::vector<TriedFormat> formats = tried(options, distributions);
    fmt::print("{}", options.json ? printed(json_of(formats, distributions, bandwidth))
                                  : text_of(formats, distributions, bandwidth));
  } catch (const InputError& error) {
    throw UsageError(fmt::format("{}: {}", error.where().substr(1), error.what()));
  }
  return ExitCode::done;
}

Runner declare(CommandLine& line) {
  auto options = std::make_shared<Options>();
  std::vector<std::string> codecs, looks;
  for (const CodecEntry* entry : codec_entries()) codecs.emplace_back(entry->name);
  for (const NamedDistribution& one : named_distributions()) looks.emplace_back(one.name);
  line.required_choice("NAME", options->name, codecs, "a codec");
  line.option("--set", options->settings, "one of its options (penstock list codecs)", "KEY=VALUE");
  line.choice("--distribution", options->distribution, looks, "try it on these values alone");
  line.option("--values", options->values, "how many values to try it on, 32768 otherwise");
  line.option("--bandwidth", options->bandwidth, "of the memory that coding reads and writes",
              "BYTES_PER_S");
  line.flag("--json", options->json, "print it as JSON");
  return [options] { return show_codec(*options); };
}

}  // namespace

constinit extern const CommandEntry codec_table_entry{
    .name = "codec",
    .summary = "what a codec saves, takes and loses: bits, memory moved, errors on drawn values",
    .details =
        "Without --set bits=N a row for each number of bits. Values are really encoded and\n"
        "decoded: gauss are normal ones, relu those behind a ReLU, heavy-tailed have one in 200\n"
        "that is 30 times as large. dB is how far the values stand above their error (SQNR);\n"
        "half steps is the largest error, in halves of the distance of evenly spaced mantissas of\n"
        "its block; flushed is the share of values that became zero. Ratios and bytes are against\n"
        "bf16; encoding a GiB, or decoding to one, reads the one form and writes the other. "
        "Options\n"
        "that name a distribution and are not set follow the values that a codec is tried on.\n"
        "\n"
        "Example: penstock codec bfp --set block=32 --bandwidth 2e12",
    .declare = declare,
};

}  // namespace penstock
