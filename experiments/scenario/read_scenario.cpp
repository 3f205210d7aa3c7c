#include "experiments/scenario/scenario.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "experiments/files/files.hpp"
#include "experiments/files/json_input.hpp"
#include "experiments/scenario/model_section.hpp"
#include "experiments/scenario/read_network.hpp"
#include "sim/base/error.hpp"

namespace penstock {
namespace {

using nlohmann::json;

void read_transfers(const json& transfers, Conditions& conditions) {
  take(transfers, "blocking", conditions.blocking_sends);
  take(transfers, "rendezvous", conditions.rendezvous);
  take(transfers, "in_flight", conditions.in_flight);
}

void read_hardware(const json& hardware, Scenario& scenario) {
  take(hardware, "name", scenario.hardware);
  scenario.hardware_named = hardware.contains("name");
  scenario.hardware_choice = read_hardware_choice(hardware);
  take(hardware, "devices", scenario.devices);
  take(hardware, "transfer_us", scenario.hardware_spec.transfer_us);
  take(hardware, "latency_us", scenario.hardware_spec.latency_us);
  take(hardware, "bandwidth_bytes_per_s", scenario.hardware_spec.bandwidth_bytes_per_s);
  read_network(hardware, scenario.hardware_spec);
  if (hardware.contains("transfers")) read_transfers(hardware["transfers"], scenario.conditions);
}

template <class Number>
std::vector<std::vector<Number>> number_lists(const json& lists) {
  std::vector<std::vector<Number>> all;
  for (const json& list : lists) {
    all.emplace_back();
    for (const json& number : list) all.back().push_back(Number{number.get<std::uint32_t>()});
  }
  return all;
}

void read_partition(const json& partition, Scenario& scenario) {
  take(partition, "name", scenario.partitioner);
  const auto has = [&](const char* key) { return partition.contains(key) ? 1 : 0; };
  if (has("name") + has("stages") + has("file") > 1) {
    throw InputError("/partition", "give one of \"name\", \"stages\" and \"file\"");
  }
  scenario.cut_stated = has("name") + has("stages") + has("file") == 1;
  if (partition.contains("stages")) {
    scenario.partition_stages = number_lists<LayerIndex>(partition["stages"]);
  }
  if (partition.contains("ranks")) {
    scenario.partition_ranks = number_lists<Rank>(partition["ranks"]);
  }
}

void read_parallel(const json& parallel, Scenario& scenario) {
  take(parallel, "pipeline", scenario.pipeline);
  take(parallel, "chunks", scenario.chunks);
  take(parallel, "tensor", scenario.tensor);
  take(parallel, "data", scenario.data);
  take(parallel, "context", scenario.context);
  take(parallel, "expert", scenario.expert);
  take(parallel, "sequence", scenario.sequence_parallel);
  take(parallel, "overlap_sums", scenario.overlaps_sums);
}

void read_schedule(const json& schedule, Scenario& scenario) {
  scenario.schedule.clear();  // also what a training command said
  const auto has = [&](const char* key) { return schedule.contains(key) ? 1 : 0; };
  if (has("name") + has("file") + has("policy") != 1) {
    throw InputError("/schedule", "it must have one of \"name\", \"policy\" and \"file\"");
  }
  if (schedule.contains("chains") && !schedule.contains("file")) {
    throw InputError("/schedule/chains", "chains go with a \"file\"; a rule brings its own");
  }
  for (const auto& [key, value] : schedule.items()) {
    if (key == "name") {
      scenario.schedule = value;
    } else if (key == "policy") {
      scenario.policy = value;
    } else if (key == "file") {
      scenario.order_file = value;
    } else if (key == "chains") {
      scenario.chains = number_lists<Stage>(value);
    } else if (key == "microbatches") {
      scenario.microbatches = value;
    } else if (key == "samples_per_microbatch") {
      scenario.samples_per_microbatch = value;
    } else if (key == "overlap") {
      scenario.overlap = value == "fused" ? Overlap::fused : Overlap::serial;
    } else {
      scenario.schedule_settings[key] = value.is_string() ? value.get<std::string>() : value.dump();
    }
  }
}

/// The enumerator of a name, in the order in which the schema lists them.
template <class Enum, std::size_t count>
Enum enumerator(const json& value, const std::array<const char*, count>& names) {
  const auto at = std::find(names.begin(), names.end(), value.get<std::string>());
  return Enum{static_cast<std::uint8_t>(at - names.begin())};
}

void read_recompute(const json& recompute, Scenario& scenario) {
  constexpr std::array names{"none", "full", "selective", "except_last"};
  take(recompute, "early", scenario.recompute_early);
  if (recompute.contains("unit")) {
    scenario.recompute_unit =
        recompute["unit"] == "stage" ? RecomputeUnit::stage : RecomputeUnit::layer;
  }
  if (!recompute.contains("mode")) return;
  scenario.recompute = enumerator<RecomputeMode>(recompute["mode"], names);
}

void read_offload(const json& offload, Scenario& scenario) {
  scenario.offload = Offload{.keep = offload["keep"].get<std::uint32_t>()};
  take(offload, "ahead", scenario.offload->ahead);
}

/// How much is kept beside the parameters: by names, or by hand.
void read_optimizer(const json& memory, Scenario& scenario) {
  if (memory.contains("optimizer")) {
    constexpr std::array names{"none", "sgd", "momentum", "adam"};
    scenario.optimizer = enumerator<Optimizer>(memory["optimizer"], names);
  }
  if (memory.contains("precision")) {
    constexpr std::array names{"bf16", "fp16", "fp32"};
    scenario.precision = enumerator<Precision>(memory["precision"], names);
  }
  if (!memory.contains("bytes_per_parameter")) return;
  for (const char* key : {"optimizer", "precision"}) {
    if (!memory.contains(key)) continue;
    throw InputError(
        fmt::format("/memory/{}", key),
        fmt::format("\"{}\" stands beside \"bytes_per_parameter\"; give one of them", key));
  }
  const json& bytes = memory["bytes_per_parameter"];
  scenario.bytes_per_parameter =
      BytesPerParameter{bytes["parameter"], bytes["gradient"], bytes["optimizer"]};
}

void read_memory(const json& memory, Scenario& scenario) {
  if (memory.contains("capacity_bytes")) {
    scenario.capacity_bytes =
        static_cast<std::uint64_t>(std::floor(memory["capacity_bytes"].get<double>()));
  }
  if (memory.value("policy", "finding") == "stall") scenario.memory_policy = MemoryPolicy::stall;
  read_optimizer(memory, scenario);
  take(memory, "zero", scenario.zero);
  take(memory, "gathered_bytes", scenario.gathered_bytes);
  if (scenario.gathered_bytes && scenario.zero != 3) {
    throw InputError("/memory/gathered_bytes", "parameters are whole but with \"zero\" 3");
  }
  take(memory, "context_bytes", scenario.context_bytes);
  take(memory, "reserve", scenario.reserve);
}

void read_overheads(const json& overheads, Scenario& scenario) {
  take(overheads, "optimizer_us", scenario.optimizer_us);
  take(overheads, "warm_up_us", scenario.warm_up_us);
  take(overheads, "launch_us", scenario.launch_us);
  take(overheads, "issue_us", scenario.issue_us);
  take(overheads, "compute_slowdown_by_transfer", scenario.conditions.compute_slowdown);
  take(overheads, "transfer_slowdown_by_compute", scenario.conditions.transfer_slowdown);
}

void read_stragglers(const json& stragglers, Chance& chance) {
  for (const json& one : stragglers) {
    Straggler straggler{Rank{one["rank"].get<std::uint32_t>()}, one["factor"]};
    straggler.from = Microbatch{one.value("from", index(straggler.from))};
    straggler.until = Microbatch{one.value("until", index(straggler.until))};
    take(one, "replica", straggler.replica);
    if (straggler.from >= straggler.until) {
      throw InputError(fmt::format("/chance/stragglers/{}/until", chance.stragglers.size()),
                       fmt::format("{} ends before it begins; it must be above \"from\", {}",
                                   index(straggler.until), index(straggler.from)));
    }
    chance.stragglers.push_back(straggler);
  }
}

void read_slow_links(const json& links, Chance& chance) {
  for (const json& one : links) {
    const Rank from{one["from"].get<std::uint32_t>()}, to{one["to"].get<std::uint32_t>()};
    if (from == to) {
      throw InputError(
          fmt::format("/chance/slow_links/{}/to", chance.slow_links.size()),
          fmt::format("rank {} has no link to itself; a link leads to another rank", index(to)));
    }
    chance.slow_links.push_back({from, to, one["factor"]});
  }
}

void read_chance(const json& section, Scenario& scenario) {
  Chance& chance = scenario.chance;
  take(section, "seed", chance.seed);
  take(section, "jitter", chance.jitter);
  take(section, "samples", chance.samples);
  take(section, "transfer_jitter", chance.transfer_jitter);
  if (chance.jitter != 0 && !chance.samples.empty()) {
    throw InputError("/chance/samples", "\"samples\" stands beside \"jitter\"; give one of them");
  }
  read_stragglers(section.value("stragglers", json::array()), chance);
  read_slow_links(section.value("slow_links", json::array()), chance);
}

/// The keys of "expect" are names or pointers into the result.
void check_expectations(const json& expect) {
  for (const auto& [key, value] : expect.items()) {
    if (!key.starts_with('/')) continue;
    try {
      (void)json::json_pointer(key);
    } catch (const json::exception&) {
      throw InputError((json::json_pointer("/expect") / key).to_string(),
                       fmt::format("\"{}\" is no JSON pointer", key));
    }
  }
}

/// Layers by kind are trained with Adam, unless a command names another optimizer, and keep what
/// goes with their precision, unless "memory" says otherwise.
void train_as_usual(Scenario& scenario, const TrainingCommand& command) {
  const std::string dtype = scenario.dtype.value_or(command.dtype.value_or("bf16"));
  scenario.optimizer = command.optimizer.value_or(Optimizer::adam);
  scenario.precision = dtype == "bf16"   ? Precision::bf16
                       : dtype == "fp16" ? Precision::fp16
                                         : Precision::fp32;
}

/// What a scenario names besides itself.
struct NamedFiles {
  ModelFile model;
  std::optional<ModelFile> cut;  // how its layers are cut into stages
};

Scenario read_document(const json& document, NamedFiles files) {
  Scenario scenario;
  use_command(files.model.command, scenario);
  const auto section = [&](const char* name, void (*read)(const json&, Scenario&)) {
    if (document.contains(name)) read(document[name], scenario);
  };
  section("model", read_model);
  if (!files.model.spec.blocks.empty() || !scenario.model_spec.blocks.empty()) {
    train_as_usual(scenario, files.model.command);
  }
  section("hardware", read_hardware);
  section("partition", read_partition);
  section("parallel", read_parallel);
  section("schedule", read_schedule);
  section("recompute", read_recompute);
  section("offload", read_offload);
  if (document.contains("codec")) scenario.codec = read_codec_choice(document["codec"]);
  section("memory", read_memory);
  section("overheads", read_overheads);
  section("chance", read_chance);
  if (files.cut) use_cut(*files.cut, files.model, scenario);
  if (document["model"].contains("file")) {
    if (document["model"].contains("arch") && files.model.architecture.empty()) {
      throw InputError("/model/arch", fmt::format("a file of the format {} has no architecture",
                                                  files.model.format));
    }
    use_model(std::move(files.model), scenario);
  }
  settle_batch(scenario);
  if (document.contains("expect")) {
    check_expectations(document["expect"]);
    scenario.expect = document["expect"].dump();
  }
  return scenario;
}

/// "penstock": another version of the format deserves its own words.
void check_version(const json& document) {
  if (!document.is_object() || !document.contains("penstock") || document["penstock"] == 1) return;
  throw InputError("/penstock", fmt::format("format version {} is unknown; this program reads 1",
                                            document["penstock"].dump()));
}

void check_reserve(const Scenario& scenario) {
  if (scenario.reserve.value_or(0) == 0 || scenario.capacity_bytes) return;
  throw InputError("/memory/reserve",
                   "it is a fraction of a capacity; give \"capacity_bytes\" too");
}

/// The files that a scenario names. Errors have the name of the file that is at fault in front.
NamedFiles read_named_files(const json& document, const std::string& folder) {
  NamedFiles files;
  const json& model = document["model"];
  if (model.contains("file")) {
    files.model = read_model_file(
        resolve(folder, model["file"]),
        {.format = model.value("format", ""), .architecture = model.value("arch", "")});
  }
  const json partition = document.value("partition", json::object());
  if (partition.contains("file")) {
    files.cut = read_model_file(resolve(folder, partition["file"]));
  }
  return files;
}

/// Runs a step whose errors are about the scenario's own text.
template <class Step>
auto about(const std::string& source, Step step) {
  try {
    return step();
  } catch (const InputError& error) {
    throw in_file(source, error);
  }
}

}  // namespace

Scenario parse_scenario(const std::string& text, const std::string& source,
                        const std::vector<std::string>& settings, const Catalogue* catalogue) {
  const std::string folder =
      source == "-" ? "." : std::filesystem::path(source).parent_path().string();
  static const Schema schema(json::parse(scenario_schema()));
  const json document = about(source, [&] {
    json read = parse_json(text);
    apply_settings(read, settings);
    check_version(read);
    schema.check(read);
    return read;
  });
  NamedFiles files = read_named_files(document, folder);
  Scenario scenario = about(source, [&] { return read_document(document, std::move(files)); });
  scenario.source = source;
  scenario.folder = folder;
  scenario.hardware_spec.precision = scenario.dtype.value_or("bf16");
  settle_hardware(scenario, catalogue);  // errors of files that it names are about those
  about(source, [&] { check_reserve(scenario); });
  return scenario;
}

Scenario read_scenario(const std::string& path, const std::vector<std::string>& settings) {
  return parse_scenario(read_file(path), path, settings);
}

}  // namespace penstock
