#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "experiments/input/files/json_output.hpp"
#include "experiments/input/files/plain_text.hpp"
#include "experiments/input/files/setting.hpp"
#include "experiments/plan/studies/codec_trial.hpp"
#include "experiments/program/commands/registry.hpp"
#include "hardware_models/codecs/reference/codec_search.hpp"
#include "sim/base/error.hpp"

namespace penstock::codec_table_file {
namespace {

constexpr std::uint32_t most_values = 1U << 22;

struct Options {
  std::string name;
  std::vector<std::string> settings;
  std::optional<std::uint32_t> values;
  std::string distribution;
  std::string bandwidth;
  bool json = false;
};

double number_of(const std::string& text, const std::string& option) {
  if (const auto number = plain_number(text)) return *number;
  throw UsageError(fmt::format("{}: \"{}\" is no number", option, text));
}

CodecSpec codec_of(const Options& options) {
  CodecSpec codec{options.name, {}};
  for (const std::string& setting : options.settings) {
    const auto [key, value] = option_setting(setting, "codec");
    codec.numbers[key] = number_of(value, "--set " + setting);
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

std::optional<double> bandwidth_of(const Options& options) {
  if (options.bandwidth.empty()) return std::nullopt;
  const double bandwidth = number_of(options.bandwidth, "--bandwidth");
  if (bandwidth >= 1 && bandwidth <= 1e18) return bandwidth;
  throw UsageError("--bandwidth: expected 1 to 1e18 bytes a second");
}

int show_codec(const Options& options) {
  CodecTrial trial{.bandwidth_bytes_per_s = bandwidth_of(options),
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
    .summary = "show what a codec saves and costs: bits, memory traffic, error",
    .group = CommandGroup::plan,
    .example = "penstock codec bfp --set block=32 --bandwidth 2e12",
    .declare = declare,
};

}  // namespace penstock::codec_table_file
