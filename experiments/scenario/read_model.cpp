#include "experiments/scenario/model_section.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>
#include <span>
#include <utility>

#include "experiments/files/json_input.hpp"
#include "experiments/model_files/placed_layers.hpp"
#include "hardware_models/model/model_layers.hpp"
#include "sim/base/error.hpp"
#include "sim/base/limits.hpp"

namespace penstock {
namespace {

using nlohmann::json;

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

/// A layer by its kind: every other key is one of the kind's numbers.
LayerSpec read_part(const json& object, std::string source,
                    std::span<const std::string_view> others) {
  LayerSpec spec{.kind = object["kind"], .numbers = {}, .source = std::move(source)};
  for (const auto& [key, value] : object.items()) {
    if (std::find(others.begin(), others.end(), key) != others.end()) continue;
    spec.numbers[key] = value.is_boolean() ? (value.get<bool>() ? 1.0 : 0.0) : value.get<double>();
  }
  return spec;
}

/// What a layer has besides the numbers of its kind.
constexpr std::array<std::string_view, 5> keys_of_block{"kind", "name", "repeat", "even", "parts"};

/// The numbers of a block of several kinds stand with its parts.
void check_keys_of_block(const json& object, const std::string& source) {
  for (const auto& [key, value] : object.items()) {
    if (std::find(keys_of_block.begin(), keys_of_block.end(), key) != keys_of_block.end()) continue;
    throw InputError(source + pointer_step(key),
                     fmt::format("unknown key \"{}\"; beside \"parts\" there are name, repeat and "
                                 "even",
                                 key));
  }
}

/// An even cut counts the layers between embedding and head.
bool stands_at_an_end(const std::string& kind) { return kind == "embedding" || kind == "head"; }

/// A layer by its kind, or several that stay together.
BlockSpec read_block(const json& object, const std::string& source) {
  if (object.contains("kind") == object.contains("parts")) {
    throw InputError(source, "a layer has either a \"kind\" or, of several kinds, \"parts\"");
  }
  BlockSpec block;
  take(object, "name", block.name);
  take(object, "even", block.cut_evenly);
  if (object.contains("kind")) {
    if (!object.contains("even")) block.cut_evenly = !stands_at_an_end(object["kind"]);
    block.parts.push_back(read_part(object, source, keys_of_block));
    if (block.name.empty()) block.name = block.parts.front().kind;
    return block;
  }
  check_keys_of_block(object, source);
  constexpr std::array<std::string_view, 1> kind_only{"kind"};
  const json& parts = object["parts"];
  for (std::size_t i = 0; i < parts.size(); ++i) {
    block.parts.push_back(read_part(parts[i], fmt::format("{}/parts/{}", source, i), kind_only));
  }
  if (block.name.empty()) block.name = "block";
  return block;
}

void read_blocks(const json& layers, ModelSpec& spec) {
  for (std::size_t i = 0; i < layers.size(); ++i) {
    const std::string source = fmt::format("/model/layers/{}", i);
    const BlockSpec block = read_block(layers[i], source);
    const auto times = layers[i].value("repeat", std::uint32_t{1});
    if (spec.blocks.size() + times > Limits::layers) {
      throw InputError(source + "/repeat", fmt::format("these are more than {} layers in all, "
                                                       "which is the most there can be",
                                                       Limits::layers));
    }
    for (std::uint32_t copy = 0; copy < times; ++copy) {
      spec.blocks.push_back(block);
      if (times > 1) spec.blocks.back().name += fmt::format(" {}", copy);
    }
  }
}

bool is_block(const json& layer) { return layer.contains("kind") || layer.contains("parts"); }

void read_layers(const json& model, Scenario& scenario) {
  const json& layers = model["layers"];
  const auto by_kind = std::count_if(layers.begin(), layers.end(), is_block);
  if (by_kind == 0) {
    for (std::size_t i = 0; i < layers.size(); ++i) {
      scenario.model.layers.push_back(read_layer(layers[i], fmt::format("/model/layers/{}", i)));
    }
    if (!model.contains("edges")) return scenario.model.connect_as_chain();
    return read_edges(model["edges"], scenario.model);
  }
  if (static_cast<std::size_t>(by_kind) < layers.size()) {
    throw InputError("/model/layers",
                     "some layers state their times and others their kind; a layer of the kind "
                     "\"measured\" states times among others by kind");
  }
  if (model.contains("edges")) {
    throw InputError("/model/edges", "layers by kind are a chain; edges go with layers by times");
  }
  read_blocks(layers, scenario.model_spec);
}

void read_stages(const json& stages, Scenario& scenario) {
  scenario.stages_given = true;
  for (std::size_t i = 0; i < stages.size(); ++i) {
    scenario.model.layers.push_back(read_layer(stages[i], fmt::format("/model/stages/{}", i)));
  }
  scenario.model.connect_as_chain();
}

/// Keys that say how large a cell is have no meaning where costs are stated.
void refuse_shape(const json& model) {
  for (const char* key :
       {"sequence", "microbatch", "dtype", "profiled_microbatch", "format", "arch"}) {
    if (!model.contains(key)) continue;
    throw InputError(std::string("/model/") + key,
                     "what is stated in times and bytes has its size already; this goes with "
                     "layers by kind, or with a file");
  }
}

/// Each device of an expert group works on examples of its own.
void settle_examples(Scenario& scenario) {
  const double members = scenario.model_spec.blocks.empty() ? 1 : scenario.expert;
  auto& examples = scenario.microbatch;
  auto& samples = scenario.samples_per_microbatch;
  if (examples && samples && *samples != *examples * members) {
    const std::string each =
        members > 1 ? fmt::format(" on each of {} devices of an expert group", members) : "";
    throw InputError("/schedule/samples_per_microbatch",
                     fmt::format("it is {}, but a microbatch of {}{} has {}; leave it out",
                                 *samples, *examples, each, *examples * members));
  }
  if (!examples && !scenario.model_spec.blocks.empty()) {
    examples = samples.value_or(members) / members;
    if (has_tokens(scenario.model_spec) && *examples != std::floor(*examples)) {
      throw InputError("/schedule/samples_per_microbatch",
                       fmt::format("{} do not divide by the {} devices of an expert group, each of "
                                   "which has examples of its own",
                                   *samples, members));
    }
  }
  if (!samples) samples = examples.value_or(1) * members;
  if (!has_tokens(scenario.model_spec) || scenario.sequence) return;
  scenario.sequence = usual_sequence(scenario.max_sequence);
}

/// A training command leaves data replicas to the number of devices.
void settle_replicas(Scenario& scenario) {
  if (scenario.data != 0) return;
  scenario.data = 1;
  if (!scenario.devices || !scenario.pipeline) return;
  const std::uint64_t others =
      std::uint64_t{*scenario.pipeline} * scenario.tensor * scenario.context * scenario.expert;
  if (others == 0 || *scenario.devices % others != 0) {
    throw InputError("/hardware/devices",
                     fmt::format("{} devices do not divide by the {} that one copy of the pipeline "
                                 "takes",
                                 *scenario.devices, others));
  }
  scenario.data = static_cast<std::uint32_t>(*scenario.devices / others);
}

std::optional<std::uint32_t> microbatches_of_batch(const Scenario& scenario) {
  if (!scenario.global_batch) return std::nullopt;
  const double each = *scenario.samples_per_microbatch * scenario.data;
  const double count = *scenario.global_batch / each;
  if (count >= 1 && count <= Limits::microbatches && count == std::floor(count)) {
    return static_cast<std::uint32_t>(count);
  }
  throw InputError("/schedule/microbatches",
                   fmt::format("a batch of {} does not divide by the {} examples that all replicas "
                               "work on at a time; give the number of microbatches",
                               *scenario.global_batch, each));
}

/// Stands in for a value that the scenario does not state.
template <class Value>
void stand_in(std::optional<Value>& stated, const std::optional<Value>& other) {
  if (!stated) stated = other;
}

/// Whether stage s is on rank s alone, as schedules place stages themselves.
bool one_by_one(const std::vector<std::vector<Rank>>& ranks) {
  for (std::size_t stage = 0; stage < ranks.size(); ++stage) {
    if (ranks[stage].size() != 1 || index(ranks[stage].front()) != stage) return false;
  }
  return true;
}

/// Layers by times of one microbatch, of the size that was profiled or of that asked for.
void use_times(const ModelFile& file, Scenario& scenario) {
  for (const auto& [key, stated] : {std::pair{"/model/dtype", scenario.dtype.has_value()},
                                    {"/model/sequence", scenario.sequence.has_value()}}) {
    if (!stated) continue;
    throw InputError(key, "what this file states in times and bytes has its size already");
  }
  const bool sized = !file.profile.entries.empty() || scenario.profiled_microbatch.has_value();
  if (scenario.microbatch && !sized) {
    throw InputError("/model/microbatch",
                     "the times of this file are those of a minibatch of unknown size; say that "
                     "with \"profiled_microbatch\" too");
  }
  stand_in(scenario.microbatch, scenario.profiled_microbatch);
  scenario.model = graph_by_times(file, scenario.microbatch, scenario.profiled_microbatch);
  for (Layer& layer : scenario.model.layers) layer.source = "/model/file";
  if (!scenario.model.layers.empty()) return;
  throw InputError("/model/file",
                   "this file says how layers are cut but not what they are; it goes under "
                   "/partition/file");
}

}  // namespace

void read_model(const json& model, Scenario& scenario) {
  const int ways = static_cast<int>(model.contains("stages")) +
                   static_cast<int>(model.contains("layers")) +
                   static_cast<int>(model.contains("file"));
  if (ways != 1) {
    throw InputError("/model", "it must have one of \"stages\", \"layers\" and \"file\"");
  }
  take(model, "tied_embedding_bytes", scenario.tied_embedding_bytes);
  take(model, "sequence", scenario.sequence);
  take(model, "microbatch", scenario.microbatch);
  take(model, "profiled_microbatch", scenario.profiled_microbatch);
  take(model, "dtype", scenario.dtype);
  if (model.contains("edges") && !model.contains("layers")) {
    throw InputError("/model/edges", "stages are a chain; edges go with \"layers\"");
  }
  if (model.contains("stages")) read_stages(model["stages"], scenario);
  if (model.contains("layers")) read_layers(model, scenario);
  if (!model.contains("file") && scenario.model_spec.blocks.empty()) refuse_shape(model);
}

void use_command(const TrainingCommand& command, Scenario& scenario) {
  scenario.tensor = command.tensor.value_or(1);
  scenario.context = command.context.value_or(1);
  scenario.expert = command.expert.value_or(1);
  scenario.sequence_parallel = command.sequence_parallel.value_or(false);
  scenario.pipeline = command.pipeline;
  scenario.chunks = command.chunks;
  scenario.devices = command.devices;
  scenario.recompute = command.recompute;
  if (command.tensor || command.pipeline) scenario.data = 0;  // settled by the devices
  scenario.zero = command.distributed_optimizer.value_or(false) ? 1 : 0;
  if (!command.pipeline) return;
  scenario.schedule = command.chunks.value_or(1) > 1 ? "interleaved-1f1b" : "1f1b";
}

void use_cut(const ModelFile& cut, const ModelFile& model, Scenario& scenario) {
  if (cut.stages.empty()) {
    throw InputError(
        "/partition/file",
        fmt::format("a file of the format {} that says nothing of stages", cut.format));
  }
  const bool named = !model.graph.layers.empty();
  try {
    scenario.partition_stages = named ? placed_layers(cut, model) : cut.stages;
  } catch (const InputError& error) {
    throw InputError("/partition/file", error.what());
  }
  if (scenario.partition_ranks.empty() && !one_by_one(cut.ranks)) {
    scenario.partition_ranks = cut.ranks;
  }
}

void use_model(ModelFile file, Scenario& scenario) {
  scenario.notes.insert(scenario.notes.end(), file.notes.begin(), file.notes.end());
  const TrainingCommand& command = file.command;
  stand_in(scenario.sequence, command.sequence);
  if (command.microbatch) stand_in(scenario.microbatch, std::optional<double>(*command.microbatch));
  if (!file.spec.blocks.empty()) stand_in(scenario.dtype, command.dtype);
  scenario.global_batch = command.global_batch;
  scenario.max_sequence = file.max_sequence;
  if (!scenario.cut_stated) scenario.partition_stages = std::move(file.stages);
  if (!scenario.cut_stated && scenario.partition_ranks.empty()) {
    scenario.partition_ranks = std::move(file.ranks);
  }
  scenario.model_from_file = true;
  if (file.spec.blocks.empty()) return use_times(file, scenario);
  if (scenario.profiled_microbatch) {
    throw InputError("/model/profiled_microbatch",
                     "this file has no times; it is about those of a profile");
  }
  scenario.model_spec = std::move(file.spec);
}

void settle_batch(Scenario& scenario) {
  if (scenario.schedule.empty() && scenario.policy.empty() && scenario.order_file.empty()) {
    throw InputError("/schedule", "\"schedule\" is missing");
  }
  settle_examples(scenario);
  settle_replicas(scenario);
  if (!scenario.microbatches) scenario.microbatches = microbatches_of_batch(scenario);
  if (scenario.order_file.empty() && !scenario.microbatches) {
    throw InputError("/schedule/microbatches",
                     "\"microbatches\" is missing; a rule needs their number");
  }
}

}  // namespace penstock
