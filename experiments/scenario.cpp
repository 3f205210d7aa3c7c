#include "experiments/scenario.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "experiments/files.hpp"
#include "experiments/json_input.hpp"
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

void read_hardware(const json& hardware, Scenario& scenario) {
  take(hardware, "name", scenario.hardware);
  take(hardware, "devices", scenario.devices);
  take(hardware, "transfer_us", scenario.hardware_spec.transfer_us);
  take(hardware, "latency_us", scenario.hardware_spec.latency_us);
  take(hardware, "bandwidth_bytes_per_s", scenario.hardware_spec.bandwidth_bytes_per_s);
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
  if (schedule.contains("name") == schedule.contains("file")) {
    throw InputError("/schedule", "it must have either a \"name\" or a \"file\"");
  }
  if (schedule.contains("chains") && schedule.contains("name")) {
    throw InputError("/schedule/chains", "chains go with a \"file\"; a rule brings its own");
  }
  for (const auto& [key, value] : schedule.items()) {
    if (key == "name") {
      scenario.schedule = value;
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
  if (!scenario.schedule.empty() && !scenario.microbatches) {
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

/// From here on a layer costs what it does with selective recomputation.
void make_selective(Layer& layer) {
  layer.recompute_us = layer.selective_recompute_us.value_or(layer.recompute_us);
  layer.stash_bytes = layer.selective_stash_bytes.value_or(layer.stash_bytes);
  layer.recomputed_bytes = layer.selective_recomputed_bytes.value_or(layer.recomputed_bytes);
}

void read_recompute(const json& recompute, Scenario& scenario) {
  constexpr std::array names{"none", "full", "selective", "except_last"};
  take(recompute, "early", scenario.recompute_early);
  if (!recompute.contains("mode")) return;
  scenario.recompute = enumerator<RecomputeMode>(recompute["mode"], names);
  if (scenario.recompute != RecomputeMode::selective) return;
  for (Layer& layer : scenario.model.layers) make_selective(layer);
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
  section("memory", read_memory);
  section("overheads", read_overheads);
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
  try {
    json document = parse_json(text);
    apply_settings(document, settings);
    check_version(document);
    check_schema(document, json::parse(scenario_schema()));
    Scenario scenario = read_document(document);
    scenario.source = source;
    scenario.folder = source == "-" ? "." : std::filesystem::path(source).parent_path().string();
    return scenario;
  } catch (const InputError& error) {
    throw in_file(source, error);
  }
}

Scenario read_scenario(const std::string& path, const std::vector<std::string>& settings) {
  return parse_scenario(read_file(path), path, settings);
}

}  // namespace penstock
