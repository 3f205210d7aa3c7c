#include <doctest/doctest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "experiments/input/formats/reading/read_model_file.hpp"
#include "experiments/input/formats/transformers/hf_architectures.hpp"
#include "experiments/input/model_files/model_file.hpp"
#include "hardware_models/layers/registry.hpp"
#include "tests/support/layers.hpp"
#include "tests/support/model_parameters.hpp"

// Configs of known models: their parameters, counted two ways.

namespace penstock::testing {
namespace {

using nlohmann::json;

/// Models whose parameters are known; empty where nobody says where they are.
json known_models() {
  const auto read = oracle("models.json");
  return read ? read->at("models") : json::array();
}

/// What the kinds of layer count themselves, apart from the closed form.
LayerWork counted(const ModelSpec& spec) {
  LayerWork sum;
  for (const BlockSpec& block : spec.blocks) {
    if (block.predicts_further) continue;
    for (const LayerSpec& layer : block.parts) {
      const LayerWork work = work_of(layer, CellShape{});
      sum.parameters += work.parameters;
      sum.active_parameters += work.active_parameters;
    }
  }
  return sum;
}

void check_parameters(const json& config, const json& entry) {
  const ModelFile file = parse_model_file(config.dump(), {});
  const double all = entry.at("computed_params");
  const double active = entry.at("computed_active_params");
  CHECK(std::abs(closed_form_parameters(file.spec) / all - 1) < 2e-4);
  CHECK(std::abs(closed_form_active_parameters(file.spec) / active - 1) < 2e-4);
  CHECK(counted(file.spec).parameters == closed_form_parameters(file.spec));
  CHECK(counted(file.spec).active_parameters == closed_form_active_parameters(file.spec));
}

/// An entry under the names that its architecture gives its fields, without what is not from there.
json as_published(const json& entry) {
  json config = entry;
  for (const char* key : {"name", "source", "gated_mlp", "norm", "linear_bias", "learned_pos",
                          "qkv_bias", "qk_norm", "shared_expert_gate", "hf_model_type",
                          "computed_params", "computed_active_params", "published_params"}) {
    config.erase(key);
  }
  const std::string type = entry.at("hf_model_type");
  config["model_type"] = type;
  const auto rename = [&](const char* from, const char* to) {
    config[to] = config[from];
    config.erase(from);
  };
  if (type == "gpt2") {
    rename("hidden_size", "n_embd");
    rename("num_hidden_layers", "n_layer");
    rename("num_attention_heads", "n_head");
    rename("max_position_embeddings", "n_positions");
    for (const char* key : {"num_key_value_heads", "head_dim"}) config.erase(key);
    config.erase("intermediate_size");  // four times the width, which GPT-2's n_inner is when null
    config["n_inner"] = nullptr;
  }
  if (type == "deepseek_v3") rename("num_experts", "n_routed_experts");
  if (type == "qwen2_moe") config["decoder_sparse_step"] = 1;
  return config;
}

}  // namespace

TEST_CASE("every known model, as its facts stand, has its parameters within 0.02 %") {
  for (const json& entry : known_models()) {
    CAPTURE(entry.at("name").get<std::string>());
    check_parameters(entry, entry);
  }
}

TEST_CASE("and so it has under the names of its own architecture, which decides the rest") {
  for (const json& entry : known_models()) {
    CAPTURE(entry.at("name").get<std::string>());
    check_parameters(as_published(entry), entry);
  }
}

TEST_CASE("and so it has inside the text_config of a larger model, told by the class's name too") {
  for (const json& entry : known_models()) {
    CAPTURE(entry.at("name").get<std::string>());
    json config = as_published(entry);
    const std::string type = config.at("model_type");
    config.erase("model_type");
    const json around{{"model_type", "some_vision_model"},
                      {"architectures", {find_hf_architecture(type)->class_name}},
                      {"tie_word_embeddings", config.at("tie_word_embeddings")},
                      {"text_config", config}};
    check_parameters(around, entry);
  }
}

}  // namespace penstock::testing
