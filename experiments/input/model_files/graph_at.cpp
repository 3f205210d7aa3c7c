#include "experiments/input/model_files/graph_at.hpp"

#include <algorithm>

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

}  // namespace

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

ModelGraph graph_by_times(const ModelFile& file, std::optional<double> microbatch,
                          std::optional<double> profiled_microbatch) {
  if (file.profile.entries.empty()) {
    ModelGraph model = file.graph;
    if (profiled_microbatch && microbatch) scale(model, *microbatch / *profiled_microbatch);
    return model;
  }
  return graph_at(file, microbatch.value_or(usual_examples(file.profile)));
}

}  // namespace penstock
