#include "experiments/input/model_files/model_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <unordered_map>

#include "experiments/input/files/plain_text.hpp"
#include "sim/base/error.hpp"

namespace penstock {
namespace {

/// The maximum over layers of the smallest number of examples measured.
double usual_examples(const Profile& profile) {
  double examples = 0;
  for (const ProfileEntry& entry : profile.entries) {
    examples = std::max(examples, entry.points.front().examples);
  }
  return examples;
}

void scale(std::optional<double>& value, double factor) {
  if (value) *value *= factor;
}

/// Scales costs in proportion to the examples of a microbatch.
void scale(ModelGraph& model, double factor) {
  for (Layer& layer : model.layers) {
    for (auto* time : {&layer.forward_us, &layer.backward_us, &layer.backward_input_us,
                       &layer.backward_weight_us}) {
      scale(*time, factor);
    }
    for (double* bytes : {&layer.activation_bytes, &layer.stash_bytes, &layer.workspace_bytes}) {
      *bytes *= factor;
    }
  }
}

/// The layers of a model by their ids in other files.
std::unordered_map<std::uint32_t, LayerIndex> layers_by_id(const ModelFile& model) {
  std::unordered_map<std::uint32_t, LayerIndex> layers;
  for (std::uint32_t i = 0; i < model.graph.layers.size(); ++i) {
    layers.emplace(model.layer_ids.empty() ? i : model.layer_ids[i], LayerIndex{i});
  }
  return layers;
}

/// The layers of a profile as a graph, with costs for a microbatch of `examples` examples.
ModelGraph graph_at(const ModelFile& file, double examples) {
  ModelGraph graph = file.graph;
  for (std::size_t i = 0; i < graph.layers.size(); ++i) {
    Layer& layer = graph.layers[i];
    const ProfilePoint point = at(file.profile.entries[i], examples);
    layer.forward_us = point.forward_us;
    layer.backward_us = point.backward_us;
    layer.backward_input_us = point.backward_input_us;
    layer.backward_weight_us = point.backward_weight_us;
    layer.activation_bytes = point.activation_bytes.value_or(0);
    layer.stash_bytes = point.stash_bytes.value_or(0);
    layer.key.examples = examples;
  }
  return graph;
}

}  // namespace

double usual_sequence(std::optional<double> max_sequence) {
  constexpr double usual = 4096;
  return std::min(usual, max_sequence.value_or(usual));
}

std::string why_no_sequence(const ModelSpec& spec, std::optional<double> max_sequence,
                            double tokens) {
  for (const BlockSpec& block : spec.blocks) {
    for (const LayerSpec& part : block.parts) {
      if (const double rows = part.number("positions"); part.kind == "embedding" && rows > 0) {
        const double most = std::min(rows, max_sequence.value_or(rows));
        if (tokens > most) return fmt::format("{} tokens, but {} learned positions", tokens, most);
      }
      if (const double pictures = part.number("pictures"); pictures > tokens) {
        return fmt::format("{} tokens, but {} of them come from pictures", tokens, pictures);
      }
    }
  }
  return {};
}

bool has_tokens(const ModelSpec& spec) {
  constexpr std::string_view kinds =
      "embedding, attention, mla, sparse_attention, gated_delta, mamba2, picture_embedding";
  return spec.any_part([&](const LayerSpec& part) { return is_listed(kinds, part.kind); });
}

Precision usual_precision(std::string_view dtype) {
  if (dtype == "fp16") return Precision::fp16;
  return dtype == "fp32" || dtype == "tf32" ? Precision::fp32 : Precision::bf16;
}

BytesPerParameter bytes_per_parameter(Precision precision, Optimizer optimizer) {
  struct Row {
    double parameter;
    double gradient;
    double master;  // fp32 weights; with fp16, fp32 gradients too
  };
  constexpr std::array<Row, 3> rows{{{2, 4, 4}, {2, 2, 8}, {4, 4, 0}}};
  constexpr double moment = 4;
  const Row& row = rows[static_cast<std::size_t>(precision)];
  switch (optimizer) {
    case Optimizer::none:
      break;
    case Optimizer::sgd:
      return {row.parameter, row.gradient, row.master};
    case Optimizer::momentum:
      return {row.parameter, row.gradient, row.master + moment};
    case Optimizer::adam:
      return {row.parameter, row.gradient, row.master + 2 * moment};
  }
  return {row.parameter, 0, 0};
}

ModelGraph graph_by_times(const ModelFile& file, std::optional<double> microbatch,
                          std::optional<double> profiled_microbatch) {
  if (file.profile.entries.empty()) {
    ModelGraph model = file.graph;
    if (profiled_microbatch && microbatch) scale(model, *microbatch / *profiled_microbatch);
    return model;
  }
  return graph_at(file, microbatch.value_or(usual_examples(file.profile)));
}

void check_shape(const ModelFile& file, const std::vector<ShapeOption>& options) {
  if (!file.spec.blocks.empty()) return;
  for (const auto& [name, given] : options) {
    const bool sizes = name == std::string_view("--microbatch");
    if (!given || (sizes && !file.profile.entries.empty())) continue;
    throw UsageError(fmt::format("{}: a file of the format {} has times of {}; leave this out",
                                 name, file.format,
                                 sizes ? "one size that it does not tell" : "one way to run it"));
  }
}

std::vector<std::vector<LayerIndex>> placed_layers(const ModelFile& cut, const ModelFile& model) {
  const auto layers = layers_by_id(model);
  std::vector<std::vector<LayerIndex>> stages;
  std::vector<bool> placed(layers.size());
  for (const auto& ids : cut.stages) {
    std::vector<LayerIndex>& stage = stages.emplace_back();
    for (const LayerIndex id : ids) {
      const auto found = layers.find(index(id));
      if (found == layers.end() && !model.layer_ids.empty()) continue;
      if (found == layers.end()) {
        throw InputError(fmt::format("stage {} has the layer {}; the model has {} layers",
                                     stages.size() - 1, index(id), layers.size()));
      }
      stage.push_back(found->second);
      placed[index(found->second)] = true;
    }
    if (stage.empty()) {
      throw InputError(fmt::format("stage {} has no layer of the model", stages.size() - 1));
    }
  }
  for (std::uint32_t i = 0; i < placed.size(); ++i) {
    if (!placed[i]) {
      throw InputError(fmt::format("layer {} ({}) is in no stage", i, model.graph.layers[i].name));
    }
  }
  return stages;
}

}  // namespace penstock
