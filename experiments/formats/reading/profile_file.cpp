#include "experiments/formats/reading/profile_file.hpp"

#include <fmt/format.h>

#include "experiments/files/files.hpp"
#include "experiments/profiles/profile_rows.hpp"
#include "sim/base/error.hpp"
#include "validate/store/store_file.hpp"

namespace penstock {

Profile read_profile(const std::string& path) {
  if (looks_like_store(path)) {
    return layer_profile(judged_rows(ProfileStore(path), today_here())).profile;
  }
  ModelFile file = read_model_file(path);
  if (file.profile.entries.empty()) {
    throw in_file(path, InputError("", fmt::format("it is a file of the format {}, which holds no "
                                                   "profile of layers at microbatch sizes",
                                                   file.format)));
  }
  file.profile.source = path;
  return std::move(file.profile);
}

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
    layer.examples = examples;
  }
  return graph;
}

}  // namespace penstock
