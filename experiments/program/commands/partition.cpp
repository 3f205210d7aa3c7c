#include <fmt/ranges.h>

#include <functional>
#include <nlohmann/json.hpp>

#include "experiments/input/files/plain_text.hpp"
#include "experiments/input/files/quantity.hpp"
#include "experiments/input/scenario/partition_section.hpp"
#include "experiments/plan/cuts/partitioning.hpp"
#include "experiments/program/commands/registry.hpp"
#include "schedules/partitioners/registry.hpp"
#include "sim/base/limits.hpp"
#include "sim/base/named.hpp"

namespace penstock::partition_file {
namespace {

struct Options : Arguments {
  Text model = line.input().required("MODEL", "a model's file, - for standard input");
  Number ranks = line.number("--ranks", "pipeline ranks; default: --devices");
  Number chunks = line.number("--chunks", "stages a rank, default 1");
  Text method = line.option("--method", "a partitioner; see penstock list partitioners", "NAME",
                            suggested_partitioners, "balanced");
  Number microbatches =
      line.number("--microbatches", "microbatches of one iteration, default 4 per rank");
  Number devices = line.number("--devices", "devices to spread over stages as replicas");
  Flag exactly = line.flag("--exactly", "exactly ranks x chunks stages, not at most");
  Texts settings =
      line.list("--set", "a setting of the method; see penstock help partition", "KEY=VALUE");
  Flag json = line.json();
  Text svg = line.option("--svg", "draw stages as bars: compute, memory", "FILE");
  Text png = line.option("--png", "draw them as PNG", "FILE");
  const Existing& replaced = line.replaces();
  Heading prices = line.group("Prices");
  Text transfers = line.choice("--transfers", {"none", "overlap", "serial"},
                               "how transfers count; default overlap with --bandwidth");
  Text bandwidth = line.option("--bandwidth", "of a link between stages, each way", "BYTES_PER_S");
  Text memory = line.option("--memory", "capacity of a rank", "BYTES");
  Text hardware = line.option("--hardware", "a machine or its file, for layers given by kind",
                              "NAME|FILE", suggested_machines);
  Number sequence = line.number("--sequence", "tokens per example, for layers given by kind");
  Number microbatch = line.number("--microbatch", "examples per microbatch");
  Number tensor = line.number("--tensor", "degree of tensor parallelism");
  Text format = line.option("--format", "format of the file; default: recognised from its text",
                            "NAME", suggested_model_formats);
};

PlannedModelRequest model_request(const Options& options) {
  return {.path = options.model,
          .file = {.format = options.format, .architecture = {}},
          .hardware = options.hardware,
          .sequence = within_if_given("--sequence", options.sequence),
          .microbatch = within_if_given("--microbatch", options.microbatch),
          .tensor = within_if_given("--tensor", options.tensor, Limits::ranks)};
}

/// Throws UsageError for an option that the method does not read. Pictures show transfers and the
/// capacity, and devices alone are also the ranks.
void check_read(const Options& options) {
  const PartitionerEntry* method = find_named(partitioner_entries(), options.method);
  if (method == nullptr) return;  // reported with the known names elsewhere
  const auto check = [&](const char* option, bool given, auto reads) {
    if (!given || reads(*method)) return;
    std::vector<std::string_view> others;
    for (const PartitionerEntry* one : partitioner_entries()) {
      if (reads(*one)) others.push_back(one->name);
    }
    throw UsageError(fmt::format("{}: the partitioner \"{}\" does not read it; it goes with {}",
                                 option, method->name, fmt::join(others, ", ")));
  };
  const auto transfers = [](const PartitionerEntry& one) {
    return is_listed(one.settings, "transfers");
  };
  const bool draws = !options.svg.empty() || !options.png.empty();
  check("--devices", options.devices && options.ranks,
        std::mem_fn(&PartitionerEntry::spreads_devices));
  check("--memory", !options.memory.empty() && !draws,
        std::mem_fn(&PartitionerEntry::keeps_capacity));
  check("--bandwidth", !options.bandwidth.empty() && !draws, transfers);
  check("--transfers", !options.transfers.empty(), transfers);
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
      quantity_if_given("--bandwidth", options.bandwidth, QuantityKind::bytes_per_s);
  request.memory_bytes = quantity_if_given("--memory", options.memory, QuantityKind::bytes);
  request.exactly = options.exactly;
  check_read(options);
  std::vector<std::string> settings = options.settings;
  if (!options.transfers.empty()) settings.push_back("transfers=" + options.transfers);
  request.settings = cut_settings_of(settings, options.method);
  return request;
}

int print_partition(const Options& options) {
  check_outputs({options.svg, options.png, json_output(options.json)}, {options.model},
                options.replaced);
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

}  // namespace

constinit extern const CommandEntry partition_entry{
    .name = "partition",
    .summary = "cut a model into pipeline stages",
    .group = CommandGroup::plan,
    .example = "penstock partition llama-3.1-8b.json --hardware dgx-h100 --ranks 4",
    .declare = command<Options, print_partition>,
};

}  // namespace penstock::partition_file
