#include "experiments/plan/studies/description.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "experiments/input/files/json_output.hpp"
#include "experiments/input/files/table.hpp"
#include "hardware_models/model/model_layers.hpp"
#include "hardware_models/spec/machine.hpp"
#include "sim/base/error.hpp"

namespace penstock {
namespace {

std::string dtype_of(const ModelFile& file, const DescriptionOptions& options) {
  return options.dtype.value_or(file.command.dtype.value_or("bf16"));
}

CellShape shape_for(const ModelFile& file, const DescriptionOptions& options) {
  const TrainingCommand& command = file.command;
  const auto first = [](std::optional<double> stated, auto otherwise) {
    return stated ? *stated : static_cast<double>(otherwise);
  };
  const std::string dtype = dtype_of(file, options);
  const bool wide = dtype == "fp32" || dtype == "tf32";
  CellShape shape;
  shape.sequence = options.sequence ? *options.sequence
                                    : command.sequence.value_or(usual_sequence(file.max_sequence));
  if (const std::string why = why_no_sequence(file.spec, file.max_sequence, shape.sequence);
      !why.empty()) {
    throw UsageError("--sequence: " + why);
  }
  shape.microbatch = first(options.microbatch, command.microbatch.value_or(1));
  shape.activation_size = shape.parameter_size = wide ? 4 : 2;
  shape.tensor = first(options.tensor, command.tensor.value_or(1));
  shape.context = first(options.context, command.context.value_or(1));
  shape.expert = first(options.expert, command.expert.value_or(1));
  shape.expert_tensor =
      first(options.expert_tensor,
            command.expert_tensor.value_or(static_cast<std::uint32_t>(shape.tensor)));
  if (std::fmod(shape.tensor, *shape.expert_tensor) != 0) {
    throw UsageError(fmt::format("--expert-tensor {}: a tensor group of {} does not divide by it",
                                 *shape.expert_tensor, shape.tensor));
  }
  shape.sequence_parallel = options.sequence_parallel || command.sequence_parallel.value_or(false);
  if (std::fmod(shape.sequence, shape.context) != 0) {
    throw UsageError(fmt::format("--context {}: a sequence of {} tokens does not divide by it",
                                 shape.context, shape.sequence));
  }
  return shape;
}

std::string kinds_of(const BlockSpec& block) {
  std::vector<std::string_view> kinds;
  for (const LayerSpec& part : block.parts) kinds.push_back(part.kind);
  return fmt::format("{}", fmt::join(kinds, ", "));
}

LayerFacts facts_of(const BlockSpec& block, const LayerWork& work, const CellShape& shape) {
  return {.name = block.name,
          .kinds = kinds_of(block),
          .parameters = work.parameters,
          .active_parameters = work.active_parameters,
          .forward_flops = work.forward_flops,
          .parameter_bytes =
              (work.held_parameters + work.held_expert_parameters) * shape.parameter_size,
          .output_bytes = work.output_bytes,
          .kept_bytes = work.kept_bytes,
          .kept_selective_bytes = work.kept_selective_bytes,
          .kept_full_bytes = is_at_an_end(block) ? work.kept_bytes : work.input_bytes,
          .predicts_further = block.predicts_further};
}

/// Layers of multi-token prediction count in the memory of devices but not in the parameters and
/// FLOPs of the model.
void add_block(ModelDescription& model, const BlockSpec& block) {
  const LayerWork work = work_of(block, model.shape);
  model.layers.push_back(facts_of(block, work, model.shape));
  model.parameter_bytes += model.layers.back().parameter_bytes;
  model.activation_bytes += work.output_bytes;
  if (block.predicts_further) {
    model.further_parameters += work.parameters;
    model.further_flops_per_example += work.forward_flops / model.shape.microbatch;
    return;
  }
  model.parameters += work.parameters;
  model.active_parameters += work.active_parameters;
  model.forward_flops_per_example += work.forward_flops / model.shape.microbatch;
  model.full_attention_flops_per_example += work.full_attention_flops / model.shape.microbatch;
}

void add_layer(ModelDescription& model, const Layer& layer) {
  const double backward = layer.backward_us.value_or(layer.backward_input_us.value_or(0) +
                                                     layer.backward_weight_us.value_or(0));
  model.layers.push_back({.name = layer.name,
                          .kinds = "",
                          .parameter_bytes = layer.parameter_bytes,
                          .output_bytes = layer.activation_bytes,
                          .kept_bytes = layer.stash_bytes,
                          .forward_us = layer.forward_us.value_or(0),
                          .backward_us = backward});
  model.parameter_bytes += layer.parameter_bytes;
  model.activation_bytes += layer.activation_bytes;
  model.forward_us += layer.forward_us.value_or(0);
  model.backward_us += backward;
}

void check_options(const ModelFile& file, const DescriptionOptions& options) {
  check_shape(file, {{"--sequence", options.sequence.has_value()},
                     {"--microbatch", options.microbatch.has_value()},
                     {"--tensor", options.tensor.has_value()},
                     {"--context", options.context.has_value()},
                     {"--expert", options.expert.has_value()},
                     {"--expert-tensor", options.expert_tensor.has_value()},
                     {"--sequence-parallel", options.sequence_parallel},
                     {"--dtype", options.dtype.has_value()}});
  if (has_experts(file.spec)) return;
  const std::string none = "no layer of the model has experts; leave it out";
  for (const auto& [name, degree] :
       {std::pair{"--expert", options.expert}, {"--expert-tensor", options.expert_tensor}}) {
    if (degree.value_or(1) != 1) throw UsageError(fmt::format("{} {}: {}", name, *degree, none));
  }
  const std::uint32_t stated = options.expert ? 1 : file.command.expert.value_or(1);
  if (stated != 1) throw UsageError(fmt::format("expert parallelism {}: {}", stated, none));
}

/// "70.6 B", as in papers.
std::string count_text(double count) {
  constexpr std::pair<double, const char*> units[] = {
      {1e12, " T"}, {1e9, " B"}, {1e6, " M"}, {1e3, " K"}};
  for (const auto& [size, name] : units) {
    if (count >= size) return fmt::format("{:.4g}{}", count / size, name);
  }
  return number_text(count);
}

/// Writes whole numbers without a decimal point.
ordered_json count_json(double count) {
  constexpr double exact = 9e15;
  if (count > exact || count != std::floor(count)) return count;
  return static_cast<std::int64_t>(count);
}

std::string size_text(double bytes) { return bytes_text(static_cast<std::uint64_t>(bytes)); }

bool same_but_for_name(const LayerFacts& a, const LayerFacts& b) {
  return a.kinds == b.kinds && a.parameters == b.parameters &&
         a.active_parameters == b.active_parameters && a.forward_flops == b.forward_flops &&
         a.kept_bytes == b.kept_bytes && a.forward_us == b.forward_us &&
         a.backward_us == b.backward_us && a.parameter_bytes == b.parameter_bytes &&
         a.output_bytes == b.output_bytes && a.predicts_further == b.predicts_further;
}

/// "block 0", or "block 0 … block 31" for several identical ones.
std::string name_of_run(const ModelDescription& model, std::size_t first, std::size_t end) {
  const std::string& name = model.layers[first].name;
  if (end - first == 1) return name;
  return fmt::format("{} … {}", name, model.layers[end - 1].name);
}

using Row = std::vector<std::string>;

Row row_by_kind(const LayerFacts& layer) {
  return {count_text(layer.parameters),
          count_text(layer.active_parameters),
          count_text(layer.forward_flops),
          size_text(layer.parameter_bytes),
          size_text(layer.output_bytes),
          size_text(layer.kept_bytes),
          size_text(layer.kept_selective_bytes),
          size_text(layer.kept_full_bytes),
          layer.kinds};
}

Row row_by_times(const LayerFacts& layer) {
  return {number_text(layer.forward_us / 1e3), number_text(layer.backward_us / 1e3),
          size_text(layer.parameter_bytes), size_text(layer.output_bytes),
          size_text(layer.kept_bytes)};
}

/// Identical consecutive layers share a row.
std::string layer_table(const ModelDescription& model) {
  std::vector<Row> rows;
  rows.push_back(model.by_kind
                     ? Row{"layers", "", "parameters", "active", "forward FLOPs", "weights",
                           "output", "kept", "selective", "full", "kinds"}
                     : Row{"layers", "", "forward ms", "backward ms", "weights", "output", "kept"});
  for (std::size_t first = 0; first < model.layers.size();) {
    std::size_t end = first + 1;
    while (end < model.layers.size() && same_but_for_name(model.layers[first], model.layers[end])) {
      ++end;
    }
    const LayerFacts& layer = model.layers[first];
    Row row{name_of_run(model, first, end),
            end - first == 1 ? "" : fmt::format("x {}", end - first)};
    for (std::string& cell : model.by_kind ? row_by_kind(layer) : row_by_times(layer)) {
      row.push_back(std::move(cell));
    }
    rows.push_back(std::move(row));
    first = end;
  }
  return aligned(rows, {0, 10});
}

std::string shape_text(const ModelDescription& model) {
  const CellShape& shape = model.shape;
  std::string text = fmt::format("microbatch of {}", number_text(shape.microbatch));
  if (model.has_tokens) text += fmt::format(" × {} tokens", number_text(shape.sequence));
  for (const auto& [name, degree] :
       {std::pair{"tensor", shape.tensor}, {"context", shape.context}, {"expert", shape.expert}}) {
    if (degree > 1) text += fmt::format(", {} {}", name, number_text(degree));
  }
  if (shape.tensor_of_experts() < shape.tensor) {
    text += fmt::format(", expert_tensor {}", number_text(shape.tensor_of_experts()));
  }
  return text;
}

std::string facts_by_kind(const ModelDescription& model) {
  std::string text =
      fmt::format("parameters       {} ({:.0f})\n", count_text(model.parameters), model.parameters);
  if (model.active_parameters != model.parameters) {
    text += fmt::format("active           {} ({:.0f}) for one token\n",
                        count_text(model.active_parameters), model.active_parameters);
  }
  const double sequence = model.has_tokens ? model.shape.sequence : 1;
  if (model.further_parameters > 0) {
    text +=
        fmt::format("MTP              {} more, to predict further tokens, and {} FLOPs per token\n",
                    count_text(model.further_parameters),
                    count_text(model.further_flops_per_example / sequence));
  }
  text += fmt::format("forward          {} FLOPs per {}",
                      count_text(model.forward_flops_per_example / sequence),
                      model.has_tokens ? "token" : "example");
  if (model.full_attention_flops_per_example > 0) {
    text += fmt::format(
        ", {} with full attention",
        count_text((model.forward_flops_per_example + model.full_attention_flops_per_example) /
                   sequence));
  }
  return text + "\n";
}

std::string facts_by_times(const ModelDescription& model) {
  return fmt::format(
      "forward          {} ms\nbackward         {} ms\nweights          {}\n"
      "activations      {}\nedges            {}\n",
      number_text(model.forward_us / 1e3), number_text(model.backward_us / 1e3),
      size_text(model.parameter_bytes), size_text(model.activation_bytes), model.edges);
}

std::string stages_text(const ModelDescription& model) {
  std::string text;
  for (std::size_t stage = 0; stage < model.stages.size(); ++stage) {
    std::vector<std::uint32_t> layers;
    for (const LayerIndex layer : model.stages[stage]) layers.push_back(index(layer));
    text += fmt::format("stage {}: layers {}", stage, fmt::join(layers, ", "));
    if (stage < model.ranks.size()) {
      std::vector<std::uint32_t> ranks;
      for (const Rank rank : model.ranks[stage]) ranks.push_back(index(rank));
      text += fmt::format("; ranks {}", fmt::join(ranks, ", "));
    }
    text += "\n";
  }
  return text;
}

/// Whole bytes, as runs have them: sizes may be means over devices.
ordered_json bytes_json(double bytes) { return count_json(std::round(bytes)); }

ordered_json layer_json(const LayerFacts& layer, bool by_kind) {
  ordered_json object{{"name", layer.name}};
  if (by_kind) {
    object["kinds"] = layer.kinds;
    object["parameters"] = count_json(layer.parameters);
    object["active_parameters"] = count_json(layer.active_parameters);
    object["forward_flops"] = count_json(layer.forward_flops);
    object["predicts_further"] = layer.predicts_further;
  } else {
    object["forward_us"] = layer.forward_us;
    object["backward_us"] = layer.backward_us;
  }
  object["parameter_bytes"] = bytes_json(layer.parameter_bytes);
  object["output_bytes"] = bytes_json(layer.output_bytes);
  object["kept_bytes"] = bytes_json(layer.kept_bytes);
  if (by_kind) {
    object["kept_selective_bytes"] = bytes_json(layer.kept_selective_bytes);
    object["kept_full_bytes"] = bytes_json(layer.kept_full_bytes);
  }
  return object;
}

void add_flops(ordered_json& document, const ModelDescription& model) {
  const double all = model.forward_flops_per_example;
  const double full = all + model.full_attention_flops_per_example;
  document["forward_flops_per_example"] = count_json(all);
  if (!model.has_tokens) return;
  document["forward_flops_per_token"] = all / model.shape.sequence;
  document["forward_flops_per_token_full_attention"] = full / model.shape.sequence;
  document["further_forward_flops_per_token"] =
      model.further_flops_per_example / model.shape.sequence;
}

template <class Number>
ordered_json lists_json(const std::vector<std::vector<Number>>& lists) {
  ordered_json all = ordered_json::array();
  for (const auto& list : lists) {
    ordered_json numbers = ordered_json::array();
    for (const Number number : list) numbers.push_back(index(number));
    all.push_back(std::move(numbers));
  }
  return all;
}

}  // namespace

ModelDescription describe(const ModelFile& file, const DescriptionOptions& options) {
  check_options(file, options);
  ModelDescription model;
  model.format = file.format;
  model.architecture = file.architecture;
  model.stages = file.stages;
  model.ranks = file.ranks;
  model.notes = file.notes;
  if (const std::string dtype = dtype_of(file, options); recipe_of(dtype) != nullptr) {
    model.notes.push_back(fmt::format("{} is for products alone: bytes are those of bf16", dtype));
  }
  model.shape = shape_for(file, options);
  model.by_kind = !file.spec.blocks.empty();
  model.has_tokens = has_tokens(file.spec);
  for (const BlockSpec& block : file.spec.blocks) add_block(model, block);
  const ModelGraph graph = graph_by_times(file, options.microbatch);
  for (const Layer& layer : graph.layers) add_layer(model, layer);
  model.edges = model.by_kind ? model.layers.size() - 1 : graph.edges.size();
  return model;
}

std::string description_text(const ModelDescription& model) {
  std::string text = model.format;
  if (!model.architecture.empty()) text += ", " + model.architecture;
  if (!model.layers.empty()) text += ", " + counted(model.layers.size(), "layer");
  text += "\n";
  if (model.by_kind) text += facts_by_kind(model);
  if (!model.by_kind && !model.layers.empty()) text += facts_by_times(model);
  if (model.by_kind) text += fmt::format("\nper device, {}\n", shape_text(model));
  if (!model.layers.empty()) text += layer_table(model);
  if (!model.stages.empty()) text += (model.layers.empty() ? "" : "\n") + stages_text(model);
  for (const std::string& note : model.notes) text += fmt::format("\nnote: {}\n", note);
  return text;
}

ordered_json description_json(const ModelDescription& model) {
  ordered_json document{
      {"penstock", 1}, {"format", model.format}, {"architecture", model.architecture}};
  if (model.by_kind) {
    document["parameters"] = count_json(model.parameters);
    document["active_parameters"] = count_json(model.active_parameters);
    document["further_parameters"] = count_json(model.further_parameters);
    add_flops(document, model);
    document["sequence"] = model.has_tokens ? count_json(model.shape.sequence) : ordered_json();
    document["microbatch"] = count_json(model.shape.microbatch);
    document["tensor"] = count_json(model.shape.tensor);
    document["context"] = count_json(model.shape.context);
    document["expert"] = count_json(model.shape.expert);
    document["expert_tensor"] = count_json(model.shape.tensor_of_experts());
  } else {
    document["forward_us"] = model.forward_us;
    document["backward_us"] = model.backward_us;
  }
  document["parameter_bytes"] = bytes_json(model.parameter_bytes);
  document["activation_bytes"] = bytes_json(model.activation_bytes);
  document["edges"] = model.edges;
  ordered_json layers = ordered_json::array();
  for (const LayerFacts& layer : model.layers) layers.push_back(layer_json(layer, model.by_kind));
  document["layers"] = std::move(layers);
  document["stages"] = lists_json(model.stages);
  document["ranks"] = lists_json(model.ranks);
  document["notes"] = model.notes;
  return document;
}

}  // namespace penstock
