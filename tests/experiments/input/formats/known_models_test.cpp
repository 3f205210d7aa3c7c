#include <doctest/doctest.h>

#include <cmath>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>

#include "experiments/input/formats/reading/read_model_file.hpp"
#include "experiments/input/formats/transformers/hf_architectures.hpp"
#include "experiments/input/model_files/model_file.hpp"
#include "hardware_models/layers/registry.hpp"
#include "tests/support/model_parameters.hpp"

// Configs of known models: their parameters, counted two ways.

namespace penstock::testing {
namespace {

using nlohmann::json;

/// Models whose parameters are known; empty where nobody says where they are.
json known_models() {
  const char* folder = std::getenv("PENSTOCK_ORACLES");
  if (folder == nullptr || *folder == '\0') {
    MESSAGE("skipped: PENSTOCK_ORACLES does not name a folder with models.json");
    return json::array();
  }
  std::ifstream in(std::string(folder) + "/models.json", std::ios::binary);
  return json::parse(in).at("models");
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

// Configs of the public models named, as published on Hugging Face, and their parameters as counted
// there: from memory, not verified, except that each follows from its config by hand.
TEST_CASE("the architectures beyond those have the parameters that their models are known for") {
  struct Known {
    const char* config;
    double parameters;
  };
  const Known all[] = {
      // Mixtral-8x7B: 46.7 billion.
      {R"({"model_type":"mixtral","hidden_size":4096,"num_hidden_layers":32,
           "num_attention_heads":32,"num_key_value_heads":8,"intermediate_size":14336,
           "vocab_size":32000,"num_local_experts":8,"num_experts_per_tok":2,
           "sliding_window":null,"tie_word_embeddings":false})",
       46702792704},
      // Phi-3-mini: 3.8 billion.
      {R"({"model_type":"phi3","hidden_size":3072,"num_hidden_layers":32,"num_attention_heads":32,
           "num_key_value_heads":32,"intermediate_size":8192,"vocab_size":32064,
           "tie_word_embeddings":false})",
       3821079552},
      // Gemma-7B: 8.5 billion.
      {R"({"model_type":"gemma","hidden_size":3072,"num_hidden_layers":28,
           "num_attention_heads":16,"num_key_value_heads":16,"head_dim":256,
           "intermediate_size":24576,"vocab_size":256000})",
       8537680896},
      // Gemma-2-9B: 9.24 billion.
      {R"({"model_type":"gemma2","hidden_size":3584,"num_hidden_layers":42,
           "num_attention_heads":16,"num_key_value_heads":8,"head_dim":256,
           "intermediate_size":14336,"vocab_size":256000})",
       9241705984},
      // GPT-NeoX-20B: 20.55 billion.
      {R"({"model_type":"gpt_neox","hidden_size":6144,"num_hidden_layers":44,
           "num_attention_heads":64,"intermediate_size":24576,"vocab_size":50432,
           "tie_word_embeddings":false})",
       20554567680},
      // OPT-6.7B.
      {R"({"model_type":"opt","hidden_size":4096,"num_hidden_layers":32,"num_attention_heads":32,
           "ffn_dim":16384,"vocab_size":50272,"max_position_embeddings":2048,
           "word_embed_proj_dim":4096,"do_layer_norm_before":true})",
       6658473984},
      // Qwen3-8B: 8.19 billion.
      {R"({"model_type":"qwen3","hidden_size":4096,"num_hidden_layers":36,
           "num_attention_heads":32,"num_key_value_heads":8,"head_dim":128,
           "intermediate_size":12288,"vocab_size":151936,"tie_word_embeddings":false})",
       8190735360},
      // DeepSeek-V2-Lite: 15.7 billion.
      {R"({"model_type":"deepseek_v2","hidden_size":2048,"num_hidden_layers":27,
           "num_attention_heads":16,"num_key_value_heads":16,"intermediate_size":10944,
           "moe_intermediate_size":1408,"n_routed_experts":64,"n_shared_experts":2,
           "num_experts_per_tok":6,"first_k_dense_replace":1,"moe_layer_freq":1,
           "q_lora_rank":null,"kv_lora_rank":512,"qk_nope_head_dim":128,"qk_rope_head_dim":64,
           "v_head_dim":128,"vocab_size":102400,"tie_word_embeddings":false})",
       15706484224},
      // Gemma-3-1B: 1.0 billion.
      {R"({"model_type":"gemma3_text","hidden_size":1152,"num_hidden_layers":26,
           "num_attention_heads":4,"num_key_value_heads":1,"head_dim":256,
           "intermediate_size":6912,"vocab_size":262144,"sliding_window":512})",
       999885952},
      // GLM-4.5-Air: 106 billion.
      {R"({"model_type":"glm4_moe","hidden_size":4096,"num_hidden_layers":46,
           "num_attention_heads":96,"num_key_value_heads":8,"head_dim":128,"attention_bias":true,
           "use_qk_norm":false,"intermediate_size":10944,"moe_intermediate_size":1408,
           "n_routed_experts":128,"n_shared_experts":1,"num_experts_per_tok":8,
           "first_k_dense_replace":1,"vocab_size":151552,"tie_word_embeddings":false})",
       106852245504},
      // GPT-OSS-20B: 20914757184, of which 6637824 are biases of experts and routers, and sinks.
      {R"({"model_type":"gpt_oss","hidden_size":2880,"num_hidden_layers":24,
           "num_attention_heads":64,"num_key_value_heads":8,"head_dim":64,
           "intermediate_size":2880,"vocab_size":201088,"num_local_experts":32,
           "num_experts_per_tok":4,"sliding_window":128,"tie_word_embeddings":false})",
       20914757184 - 6637824},
      // Llama 4 Scout without its vision: 107.8 of 109 billion.
      {R"({"model_type":"llama4","text_config":{"model_type":"llama4_text","hidden_size":5120,
           "num_hidden_layers":48,"num_attention_heads":40,"num_key_value_heads":8,"head_dim":128,
           "intermediate_size":8192,"intermediate_size_mlp":16384,"vocab_size":202048,
           "num_local_experts":16,"num_experts_per_tok":1,"interleave_moe_layer_step":1}})",
       107769958400},
  };
  for (const Known& known : all) {
    CAPTURE(known.config);
    const ModelSpec spec = parse_model_file(known.config, {}).spec;
    CHECK(std::abs(closed_form_parameters(spec) / known.parameters - 1) < 2e-4);
    CHECK(counted(spec).parameters == closed_form_parameters(spec));
  }
}

}  // namespace penstock::testing
