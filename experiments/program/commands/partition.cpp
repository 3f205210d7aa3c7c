#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "experiments/input/files/files.hpp"
#include "experiments/input/files/output_file.hpp"
#include "experiments/input/files/quantity.hpp"
#include "experiments/input/scenario/partition_section.hpp"
#include "experiments/plan/cuts/partitioning.hpp"
#include "experiments/program/commands/line/suggestions.hpp"
#include "experiments/program/commands/registry.hpp"
#include "sim/base/error.hpp"
#include "sim/base/limits.hpp"

namespace penstock::partition_file {
namespace {

struct Options {
  std::string model;
  std::optional<std::uint32_t> ranks, chunks, microbatches, devices;
  std::string method = "balanced";
  std::string transfers, bandwidth, memory;
  std::vector<std::string> settings;
  std::string hardware, format, svg, png;
  std::optional<std::uint32_t> sequence, microbatch, tensor;
  bool exactly = false;
  bool json = false;
  Existing replaced = Existing::own;
};

std::optional<double> quantity(const char* option, const std::string& text, QuantityKind kind) {
  if (text.empty()) return std::nullopt;
  try {
    const double value = quantity_of(text, kind);
    if (value > 0 && value <= Limits::bytes) return value;
  } catch (const InputError& error) {
    throw UsageError(fmt::format("{} {}: {}", option, text, error.what()));
  }
  throw UsageError(fmt::format("{} {}: must be above 0 and at most 1e18", option, text));
}

PlannedModelRequest model_request(const Options& options) {
  return {.path = options.model,
          .file = {.format = options.format, .architecture = {}},
          .hardware = options.hardware,
          .sequence = within_if_given("--sequence", options.sequence),
          .microbatch = within_if_given("--microbatch", options.microbatch),
          .tensor = within("--tensor", options.tensor.value_or(1), Limits::ranks)};
}

PartitionRequest request_of(const Options& options) {
  PartitionRequest request;
  request.model = model_request(options);
  request.method = options.method;
  request.devices = within_if_given("--devices", options.devices);
  request.ranks = within("--ranks", options.ranks ? options.ranks : request.devices, Limits::ranks);
  request.chunks = within("--chunks", options.chunks.value_or(1), Limits::stages / request.ranks);
  request.microbatches = within("--microbatches", options.microbatches.value_or(4 * request.ranks),
                                Limits::microbatches);
  request.bandwidth_bytes_per_s =
      quantity("--bandwidth", options.bandwidth, QuantityKind::bytes_per_s);
  request.memory_bytes = quantity("--memory", options.memory, QuantityKind::bytes);
  request.exactly = options.exactly;
  std::vector<std::string> settings = options.settings;
  if (!options.transfers.empty()) settings.push_back("transfers=" + options.transfers);
  request.settings = cut_settings_of(settings, options.method);
  return request;
}

int print_partition(const Options& options) {
  check_outputs({options.svg, options.png}, {options.model}, options.replaced);
  const PartitionResult result = partition_model(request_of(options));
  if (options.svg != "-" && options.png != "-")
    show(options.json ? printed(partition_json(result)) : partition_text(result));
  OutputSet outputs(options.replaced);
  const auto draw = [&](const std::string& path, PictureFormat format) {
    if (path.empty() || !result.cut.finding.empty()) return;
    outputs.write(path, partition_picture(format, result));
  };
  draw(options.svg, PictureFormat::svg);
  draw(options.png, PictureFormat::png);
  outputs.publish();
  return result.cut.finding.empty() ? ExitCode::done : ExitCode::finding;
}

void declare(CommandLine& line, Options& options) {
  line.required("MODEL", options.model, "a model's file, - for standard input");
  line.option("--ranks", options.ranks, "pipeline ranks; default: --devices");
  line.option("--chunks", options.chunks, "stages a rank, default 1");
  line.option("--method", options.method, "a partitioner; see penstock list partitioners", "NAME");
  line.suggest("--method", suggested_partitioners);
  line.option("--microbatches", options.microbatches,
              "microbatches of one iteration, default 4 per rank");
  line.option("--devices", options.devices, "devices to spread over stages as replicas");
  line.flag("--exactly", options.exactly, "exactly ranks x chunks stages, not at most");
  line.option("--set", options.settings, "a setting of the method; see penstock help partition",
              "KEY=VALUE");
  line.json(options.json);
  line.option("--svg", options.svg, "draw stages as bars: compute, memory", "FILE");
  line.option("--png", options.png, "draw them as PNG", "FILE");
  line.replaces(options.replaced);
  line.group("Prices");
  line.choice("--transfers", options.transfers, {"none", "overlap", "serial"},
              "how transfers count; default overlap with --bandwidth");
  line.option("--bandwidth", options.bandwidth, "of a link between stages, each way",
              "BYTES_PER_S");
  line.option("--memory", options.memory, "capacity of a rank", "BYTES");
  line.option("--hardware", options.hardware, "a machine, for layers given by kind", "NAME");
  line.suggest("--hardware", suggested_machines);
  line.option("--sequence", options.sequence, "tokens per example, for layers given by kind");
  line.option("--microbatch", options.microbatch, "examples per microbatch");
  line.option("--tensor", options.tensor, "degree of tensor parallelism");
  line.option("--format", options.format, "format of the file; default: recognised from its text",
              "NAME");
  line.suggest("--format", suggested_model_formats);
}

}  // namespace

constinit extern const CommandEntry partition_entry{
    .name = "partition",
    .summary = "cut a model into pipeline stages",
    .group = CommandGroup::plan,
    .example = "penstock partition profile.txt --ranks 4 --bandwidth 12.5GB/s",
    .declare = command<Options, declare, print_partition>,
};

}  // namespace penstock::partition_file
