#include "experiments/scenario.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "experiments/files.hpp"
#include "experiments/json_input.hpp"
#include "experiments/network_input.hpp"
#include "sim/error.hpp"

namespace penstock {
namespace {

using nlohmann::json;

/// Stores the value of a key when it is there; the schema has checked its type.
template <class Target>
void take(const json& object, const char* key, Target& target) {
  if (object.contains(key)) target = object[key].get<Target>();
}
template <class Value>
void take(const json& object, const char* key, std::optional<Value>& target) {
  if (object.contains(key)) target = object[key].get<Value>();
}

Layer read_layer(const json& object, const std::string& source) {
  Layer layer;
  layer.source = source;
  take(object, "name", layer.name);
  take(object, "forward_us", layer.forward_us);
  take(object, "backward_us", layer.backward_us);
  take(object, "backward_input_us", layer.backward_input_us);
  take(object, "backward_weight_us", layer.backward_weight_us);
  take(object, "recompute_us", layer.recompute_us);
  take(object, "activation_bytes", layer.activation_bytes);
  take(object, "stash_bytes", layer.stash_bytes);
  take(object, "parameter_bytes", layer.parameter_bytes);
  take(object, "recomputed_bytes", layer.recomputed_bytes);
  take(object, "workspace_bytes", layer.workspace_bytes);
  take(object, "pending_weight_bytes", layer.pending_weight_bytes);
  take(object, "selective_recompute_us", layer.selective_recompute_us);
  take(object, "selective_stash_bytes", layer.selective_stash_bytes);
  take(object, "selective_recomputed_bytes", layer.selective_recomputed_bytes);
  return layer;
}

void read_edges(const json& edges, ModelGraph& model) {
  for (std::size_t i = 0; i < edges.size(); ++i) {
    for (const json& end : edges[i]) {
      if (end.get<std::uint32_t>() < model.layers.size()) continue;
      throw InputError(fmt::format("/model/edges/{}", i),
                       fmt::format("there is no layer {}; layers are 0 to {}",
                                   end.get<std::uint32_t>(), model.layers.size() - 1));
    }
    model.edges.emplace_back(LayerIndex{edges[i][0].get<std::uint32_t>()},
                             LayerIndex{edges[i][1].get<std::uint32_t>()});
  }
  topological_order(model);  // refuses a cycle
}

void read_model(const json& model, Scenario& scenario) {
  if (model.contains("stages") == model.contains("layers")) {
    throw InputError("/model", "it must have either \"stages\" or \"layers\"");
  }
  take(model, "tied_embedding_bytes", scenario.tied_embedding_bytes);
  scenario.stages_given = model.contains("stages");
  const std::string key = scenario.stages_given ? "stages" : "layers";
  const json& parts = model[key];
  for (std::size_t i = 0; i < parts.size(); ++i) {
    scenario.model.layers.push_back(read_layer(parts[i], fmt::format("/model/{}/{}", key, i)));
  }
  if (!model.contains("edges")) return scenario.model.connect_as_chain();
  if (scenario.stages_given) {
    throw InputError("/model/edges", "stages are a chain; edges go with \"layers\"");
  }
  read_edges(model["edges"], scenario.model);
}

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
  if (partition.contains("name") && partition.contains("stages")) {
    throw InputError("/partition", "\"name\" stands beside \"stages\"; give one of them");
  }
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
}

void read_schedule(const json& schedule, Scenario& scenario) {
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
  if (scenario.order_file.empty() && !scenario.microbatches) {
    throw InputError("/schedule/microbatches",
                     "\"microbatches\" is missing; a rule needs their "
                     "number");
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
  if (!recompute.contains("mode")) return;
  scenario.recompute = enumerator<RecomputeMode>(recompute["mode"], names);
}

void read_offload(const json& offload, Scenario& scenario) {
  scenario.offload = Offload{.keep = offload["keep"].get<std::uint32_t>()};
  take(offload, "ahead", scenario.offload->ahead);
}

void read_memory(const json& memory, Scenario& scenario) {
  if (memory.contains("capacity_bytes")) {
    scenario.capacity_bytes =
        static_cast<std::uint64_t>(std::floor(memory["capacity_bytes"].get<double>()));
  }
  if (memory.value("policy", "finding") == "stall") scenario.memory_policy = MemoryPolicy::stall;
  if (memory.contains("optimizer")) {
    constexpr std::array names{"none", "sgd", "momentum", "adam"};
    scenario.optimizer = enumerator<Optimizer>(memory["optimizer"], names);
  }
  take(memory, "zero", scenario.zero);
  if (scenario.zero > 1) {
    throw InputError("/memory/zero",
                     fmt::format("level {} shards the gradients too, but a pipeline adds those up "
                                 "over its microbatches and keeps them whole until then; 0 and 1 "
                                 "are right",
                                 scenario.zero));
  }
}

void read_overheads(const json& overheads, Scenario& scenario) {
  take(overheads, "optimizer_us", scenario.optimizer_us);
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

Scenario read_document(const json& document) {
  Scenario scenario;
  const auto section = [&](const char* name, void (*read)(const json&, Scenario&)) {
    if (document.contains(name)) read(document[name], scenario);
  };
  section("model", read_model);
  section("hardware", read_hardware);
  section("partition", read_partition);
  section("parallel", read_parallel);
  section("schedule", read_schedule);
  section("recompute", read_recompute);
  section("offload", read_offload);
  section("memory", read_memory);
  section("overheads", read_overheads);
  section("chance", read_chance);
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

}  // namespace

Scenario parse_scenario(const std::string& text, const std::string& source,
                        const std::vector<std::string>& settings) {
  Scenario scenario;
  try {
    json document = parse_json(text);
    apply_settings(document, settings);
    check_version(document);
    check_schema(document, json::parse(scenario_schema()));
    scenario = read_document(document);
  } catch (const InputError& error) {
    throw in_file(source, error);
  }
  scenario.source = source;
  scenario.folder = source == "-" ? "." : std::filesystem::path(source).parent_path().string();
  settle_hardware(scenario);  // errors of files that it names are about those
  return scenario;
}

Scenario read_scenario(const std::string& path, const std::vector<std::string>& settings) {
  return parse_scenario(read_file(path), path, settings);
}

}  // namespace penstock
