#include "tests/support/small_models.hpp"

#include <utility>

namespace penstock::testing {

std::vector<LayerSpec> small_transformer() {
  const LayerSpec norm{"norm", {{"hidden", 8}}, ""};
  std::vector<LayerSpec> layers{
      {"embedding", {{"vocab", 13}, {"hidden", 8}, {"positions", 8}}, ""}};
  for (int block = 0; block < 2; ++block) {
    layers.push_back(norm);
    layers.push_back({"attention", {{"hidden", 8}, {"heads", 2}, {"flash", 0}}, ""});
    layers.push_back({"norm", {{"hidden", 8}, {"bias", 1}}, ""});
    layers.push_back({"mlp", {{"hidden", 8}, {"intermediate", 12}, {"gated", 1}}, ""});
  }
  layers.push_back(norm);
  layers.push_back({"head", {{"hidden", 8}, {"vocab", 13}}, ""});
  return layers;
}

std::vector<LayerSpec> small_hybrid() {
  const LayerSpec norm{"norm", {{"hidden", 8}}, ""};
  return {{"embedding", {{"vocab", 13}, {"hidden", 8}}, ""},
          norm,
          {"mamba2", {{"hidden", 8}, {"heads", 4}, {"head_dim", 2}, {"state", 3}}, ""},
          norm,
          {"gated_delta",
           {{"hidden", 8}, {"key_heads", 2}, {"value_heads", 4}, {"key_dim", 2}, {"value_dim", 3}},
           ""},
          {"norm", {{"hidden", 8}, {"weights", 0}}, ""},
          {"sparse_attention",
           {{"hidden", 8},
            {"heads", 2},
            {"kv_lora_rank", 3},
            {"nope", 2},
            {"rope", 2},
            {"value", 3},
            {"chosen", 3},
            {"index_heads", 2},
            {"index_dim", 2}},
           ""},
          norm,
          {"attention",
           {{"hidden", 8}, {"heads", 2}, {"gate", 1}, {"qk_norm", 1}, {"wide_qk_norm", 1}},
           ""},
          {"mlp", {{"hidden", 8}, {"intermediate", 6}}, ""},
          norm,
          {"head", {{"hidden", 8}, {"vocab", 13}}, ""}};
}

std::vector<LayerSpec> small_reader_of_pictures() {
  const LayerSpec block{
      "vision_block", {{"hidden", 4}, {"heads", 2}, {"intermediate", 5}, {"tokens", 8}}, ""};
  return {{"patches", {{"hidden", 4}, {"patch", 2}, {"positions", 8}, {"tokens", 8}}, ""},
          block,
          block,
          {"merger", {{"hidden", 4}, {"out", 6}, {"deep", 1}, {"tokens", 8}}, ""},
          {"picture_embedding", {{"vocab", 13}, {"hidden", 6}, {"pictures", 2}, {"deep", 1}}, ""},
          {"attention", {{"hidden", 6}, {"heads", 2}}, ""},
          {"mlp", {{"hidden", 6}, {"intermediate", 5}}, ""},
          {"head", {{"hidden", 6}, {"vocab", 13}}, ""}};
}

CellShape small_transformer_shape() { return {.sequence = 8, .microbatch = 2}; }

std::vector<LayerSpec> small_convolution_net() {
  const auto convolution = [](const char* kind, double in, double out, double side, double kernel) {
    LayerSpec layer{kind, {}, ""};
    layer.numbers = {{"channels_in", in}, {"channels_out", out}, {"height", side},
                     {"width", side},     {"kernel", kernel},    {"relu", 1}};
    return layer;
  };
  std::vector<LayerSpec> layers{
      convolution("conv", 2, 4, 6, 3),
      convolution("conditional_conv", 4, 4, 6, 3),
      {"image_map", {{"channels_in", 4}, {"height", 6}, {"width", 6}, {"scale", 0.5}}, ""},
      convolution("conv", 4, 6, 3, 3),
      convolution("conditional_conv", 6, 6, 3, 1),
      convolution("conv", 6, 6, 3, 3),
      convolution("conv", 6, 6, 3, 1),
      {"classifier", {{"channels", 6}, {"classes", 5}, {"height", 3}, {"width", 3}}, ""}};
  layers[0].numbers["relu"] = 0;
  layers[0].numbers["batch_norm"] = 1;
  layers[1].numbers["kernels"] = 3;
  layers[3].numbers["bias"] = 1;
  layers[4].numbers["kernels"] = 2;
  layers[5].numbers["groups"] = 2;
  return layers;
}

std::vector<LayerSpec> small_amoebanet() {
  std::vector<LayerSpec> layers{{"conv",
                                 {{"channels_in", 2},
                                  {"channels_out", 4},
                                  {"height", 6},
                                  {"width", 4},
                                  {"kernel", 3},
                                  {"batch_norm", 1}},
                                 ""}};
  double before = 4, in = 4;
  const auto add = [&](const char* kind, double joined, double channels, NamedNumbers of_cell) {
    of_cell.insert({{"channels_before", before}, {"channels_in", in}, {"channels", channels}});
    layers.push_back({kind, std::move(of_cell), ""});
    before = std::exchange(in, joined * channels);
  };
  add("amoebanet_reduction", 3, 4, {{"height", 6}, {"width", 4}});
  add("amoebanet_normal", 4, 4, {{"height", 3}, {"width", 2}, {"after_reduction", 1}});
  // The last but one has as many channels as the cell before the previous one.
  for (const double channels : {4.0, 4.0, 16.0, 4.0}) {
    add("amoebanet_normal", 4, channels, {{"height", 3}, {"width", 2}});
  }
  layers.push_back(
      {"classifier", {{"channels", 16}, {"classes", 5}, {"height", 3}, {"width", 2}}, ""});
  return layers;
}

CellShape small_convolution_shape() { return {.sequence = 1, .microbatch = 3}; }

std::vector<std::vector<LayerSpec>> cut(const std::vector<LayerSpec>& layers, std::size_t stages) {
  std::vector<std::vector<LayerSpec>> parts(stages);
  for (std::size_t layer = 0; layer < layers.size(); ++layer) {
    parts[layer * stages / layers.size()].push_back(layers[layer]);
  }
  return parts;
}

Job layered_job(const System& system, const std::vector<LayerSpec>& layers,
                const CellShape& shape) {
  Job job;
  auto& [plan, costs, conditions] = job.priced;
  plan = lowered(system);
  costs.duration.assign(plan.classes.size(), from_ns(1000));
  costs.latency.assign(plan.classes.size(), Time{});
  costs.bytes.assign(plan.buffers.size(), 0);
  JobLayers& own = job.layers.emplace();
  own.stages = cut(layers, system.placement.chains().front().size());
  own.shape = shape;
  own.weights = system.schedule.weights();
  return job;
}

}  // namespace penstock::testing
