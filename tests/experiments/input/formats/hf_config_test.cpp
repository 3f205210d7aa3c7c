#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "experiments/input/formats/reading/read_model_file.hpp"
#include "experiments/input/formats/transformers/hf_architectures.hpp"
#include "experiments/input/model_files/model_file.hpp"
#include "hardware_models/layers/registry.hpp"
#include "sim/base/error.hpp"
#include "tests/support/model_files.hpp"
#include "tests/support/model_parameters.hpp"
#include "tests/support/refusal.hpp"
#include "tests/support/says.hpp"

namespace penstock::testing {
namespace {

using nlohmann::json;

ModelFile model(const json& config, const std::string& architecture = "") {
  return parse_model_file(config.dump(), {.format = "", .architecture = architecture});
}

/// Why a config is refused, its place in front, or "accepted".
std::string config_refusal(const std::string& text, const std::string& architecture = "") {
  return refused_at(
      [&] { parse_model_file(text, {.format = "hf-config", .architecture = architecture}); });
}

std::string refusal_of(const json& config) { return config_refusal(config.dump()); }

/// A small model of the plain kind.
json small() {
  return {{"model_type", "llama"},          {"hidden_size", 64},        {"num_hidden_layers", 4},
          {"num_attention_heads", 8},       {"num_key_value_heads", 2}, {"intermediate_size", 128},
          {"max_position_embeddings", 512}, {"vocab_size", 1000}};
}

json hf_config_with(json config, const std::string& key, const json& value) {
  config[key] = value;
  return config;
}

/// "40": the windows of all layers, 0 where there is none.
std::string windows(const json& config) {
  std::string text;
  for (const BlockSpec& block : model(config).spec.blocks) {
    for (const LayerSpec& part : block.parts) {
      const auto window = part.numbers.find("window");
      if (part.kind == "attention") {
        text += fmt::format("{}", window == part.numbers.end() ? 0 : window->second);
      }
    }
  }
  return text;
}

}  // namespace

TEST_CASE("a model is an embedding, its blocks, and a head with the last norm") {
  const ModelFile file = model(small());
  CHECK(file.format == "hf-config");
  CHECK(file.architecture == "llama");
  CHECK(file.max_sequence == 512);
  const auto& blocks = file.spec.blocks;
  REQUIRE(blocks.size() == 6);
  CHECK(blocks[0].name == "embedding");
  CHECK_FALSE(blocks[0].cut_evenly);
  CHECK(blocks[1].name == "block 0");
  CHECK(blocks[4].name == "block 3");
  CHECK(blocks[5].name == "head");
  REQUIRE(blocks[1].parts.size() == 4);
  CHECK(blocks[1].parts[1].numbers.at("head_dim") == 8);  // 64 over 8 heads
  CHECK(blocks[1].parts[1].numbers.at("kv_heads") == 2);
  CHECK(blocks[5].parts[0].kind == "norm");
  CHECK(blocks[5].parts[1].numbers.at("tied") == 0);
}

TEST_CASE("facts that a config states take the place of those of its architecture") {
  json config = small();
  config.update({{"gated_mlp", false},
                 {"norm", "layernorm"},
                 {"linear_bias", true},
                 {"learned_pos", true},
                 {"qk_norm", true},
                 {"tie_word_embeddings", true}});
  const ModelFile file = model(config);
  CHECK(layer(file, "embedding").numbers.at("positions") == 512);
  CHECK(layer(file, "norm").numbers.at("bias") == 1);
  CHECK(layer(file, "mlp").numbers.at("gated") == 0);
  CHECK(layer(file, "mlp").numbers.at("bias") == 1);
  CHECK(layer(file, "attention").numbers.at("qk_norm") == 1);
  CHECK(layer(file, "attention").numbers.at("out_bias") == 1);
  CHECK(layer(file, "head").numbers.at("tied") == 1);
}

TEST_CASE("biases are where a config and the code of its architecture put them") {
  const auto biases = [](const json& config) {
    const ModelFile file = model(config);
    const NamedNumbers attention = layer(file, "attention").numbers;
    std::string text = attention.at("qkv_bias") == 1 ? "qkv " : "";
    if (attention.at("out_bias") == 1) text += "out ";
    if (file.spec.blocks[1].parts.back().kind == "mlp") {
      text += layer(file, "mlp").numbers.at("bias") == 1 ? "mlp" : "";
    }
    return text;
  };
  json opt = small();
  opt.update({{"model_type", "opt"}, {"ffn_dim", 128}, {"num_key_value_heads", 8}});
  CHECK(biases(small()) == "");
  CHECK(biases(hf_config_with(small(), "attention_bias", true)) == "qkv out ");
  CHECK(biases(opt) == "qkv out mlp");
  CHECK(biases(hf_config_with(opt, "enable_bias", false)) == "");
  CHECK(biases(hf_config_with(hf_config_with(small(), "model_type", "glm4_moe"), "attention_bias",
                              true)) == "qkv ");
  CHECK(biases(hf_config_with(small(), "model_type", "gpt_oss")) == "qkv out ");
}

TEST_CASE("what a config has and its layers cannot have is noted") {
  CHECK(has_note(model(hf_config_with(small(), "model_type", "gpt_oss")), "attention sinks"));
  CHECK(has_note(model(hf_config_with(small(), "layer_norm_elementwise_affine", false)),
                 "norms are counted with"));
  CHECK_FALSE(has_note(model(small()), "norms are counted with"));
}

TEST_CASE("the rule of an architecture says which layers have experts") {
  json experts = small();
  experts.update({{"num_experts", 8}, {"num_experts_per_tok", 2}, {"moe_intermediate_size", 32}});
  CHECK(expert_layers(model(small())) == "0000");
  CHECK(expert_layers(model(experts)) == "1111");
  CHECK(expert_layers(model(hf_config_with(experts, "first_k_dense_replace", 1))) == "0111");
  CHECK(expert_layers(model(hf_config_with(experts, "moe_layer_freq", 2))) == "1010");
  CHECK(expert_layers(model(hf_config_with(experts, "moe_layer_freq", {0, 1, 1, 0}))) == "0110");
  CHECK(expert_layers(model(hf_config_with(experts, "decoder_sparse_step", 2))) == "0101");
  CHECK(expert_layers(model(hf_config_with(experts, "mlp_only_layers", {0, 3}))) == "0110");
  CHECK(expert_layers(model(hf_config_with(experts, "moe_layers", {1, 3}))) == "0101");
}

TEST_CASE("shared experts are as wide as stated, or as many of the others") {
  json config = small();
  config.update({{"num_experts", 8},
                 {"num_experts_per_tok", 2},
                 {"moe_intermediate_size", 32},
                 {"n_shared_experts", 2}});
  CHECK(layer(model(config), "moe").numbers.at("shared_intermediate") == 64);
  config["shared_expert_intermediate_size"] = 100;
  CHECK(layer(model(config), "moe").numbers.at("shared_intermediate") == 100);
}

TEST_CASE("a sliding window is in force where the architecture uses it") {
  json config = hf_config_with(small(), "sliding_window", 4);
  CHECK(windows(config) == "0000");
  CHECK(windows(hf_config_with(config, "model_type", "mistral")) == "4444");
  CHECK(windows(hf_config_with(config, "model_type", "gemma2")) == "4040");
  CHECK(windows(hf_config_with(config, "model_type", "gpt_oss")) == "4040");
  config["model_type"] = "gemma3_text";
  CHECK(windows(config) == "4444");  // the sixth of every six would have none
  CHECK(windows(hf_config_with(config, "sliding_window_pattern", 3)) == "4404");
  config["model_type"] = "qwen2";
  CHECK(windows(config) == "0000");
  config["use_sliding_window"] = true;
  CHECK(windows(hf_config_with(config, "max_window_layers", 3)) == "0004");
  config["layer_types"] = {"full_attention", "sliding_attention", "full_attention",
                           "sliding_attention"};
  CHECK(windows(config) == "0404");
}

TEST_CASE("windows of smaller classes are in the layers that their code says") {
  json config = hf_config_with(small(), "sliding_window", 4);
  config["num_experts"] = 4;
  config["num_experts_per_tok"] = 2;
  config["moe_intermediate_size"] = 32;
  config["model_type"] = "dots1";
  CHECK(windows(config) == "0000");  // of 62 layers or more
  config["max_window_layers"] = 3;
  CHECK(windows(config) == "0004");
  for (const char* type : {"qwen2_moe", "qwen3_moe", "smollm3"}) {
    CHECK(windows(hf_config_with(config, "model_type", type)) == "0000");
  }
  config["use_sliding_window"] = true;
  CHECK(windows(hf_config_with(config, "model_type", "qwen2_moe")) == "4040");
  CHECK(windows(hf_config_with(config, "model_type", "qwen3_moe")) == "4444");
  config["model_type"] = "smollm3";
  CHECK(windows(config) == "0004");
  CHECK(windows(hf_config_with(config, "no_rope_layers", {1, 0, 1, 1})) == "0400");
}

TEST_CASE("dropout of scores is not that of outputs, and norms of Llama 4 have no weights") {
  const LayerSpec dropped =
      layer(model(hf_config_with(small(), "attention_dropout", 0.1)), "attention");
  CHECK(dropped.numbers.at("dropout") == 0);
  CHECK(dropped.numbers.at("score_dropout") == 0.1);
  json llama4 = hf_config_with(small(), "model_type", "llama4_text");
  llama4["head_dim"] = 8;
  CHECK(layer(model(llama4), "attention").numbers.at("plain_qk_norm") == 1);
  llama4["use_qk_norm"] = false;
  CHECK(layer(model(llama4), "attention").numbers.at("qk_norm") == 0);
}

TEST_CASE("one expert without a number of chosen ones is an MLP") {
  const json config = hf_config_with(small(), "model_type", "hunyuan_v1_dense");
  CHECK(expert_layers(model(hf_config_with(config, "num_experts", 1))) == "0000");
}

TEST_CASE("a layer of multi-token prediction is a block with a projection and logits of its own") {
  const ModelFile file = model(hf_config_with(small(), "num_nextn_predict_layers", 1));
  const BlockSpec& further = file.spec.blocks.at(5);
  CHECK(further.name == "further 0");
  CHECK(further.predicts_further);
  CHECK_FALSE(further.cut_evenly);
  // Two norms, the projection, the four layers of a block, a norm, and the head.
  REQUIRE(further.parts.size() == 9);
  CHECK(further.parts[2].numbers.at("intermediate") == 64);
  CHECK(further.parts[8].numbers.at("tied") == 1);
  CHECK(closed_form_parameters(file.spec) == closed_form_parameters(model(small()).spec));
}

TEST_CASE("the type of its numbers is that of the training") {
  CHECK(model(hf_config_with(small(), "torch_dtype", "bfloat16")).command.dtype == "bf16");
  CHECK(model(hf_config_with(small(), "dtype", "float16")).command.dtype == "fp16");
  CHECK_FALSE(model(small()).command.dtype.has_value());
}

TEST_CASE("an unknown architecture is refused with those that are known, unless one is named") {
  const json config = hf_config_with(small(), "model_type", "mamba");
  CHECK(refusal_of(config).starts_with("/model_type: unknown architecture \"mamba\"; known: "));
  CHECK(says(refusal_of(config), "--arch NAME"));
  CHECK(model(config, "llama").architecture == "llama");
  CHECK(model(config, "Qwen2ForCausalLM").architecture == "qwen2");
  CHECK(config_refusal(config.dump(), "mamba")
            .starts_with("unknown architecture \"mamba\"; known: "));
  json none = small();
  none.erase("model_type");
  CHECK(refusal_of(none).starts_with("/model_type: \"model_type\" is missing; known: "));
}

TEST_CASE("a field that is missing, of a wrong type or out of range is named with what is right") {
  json missing = small();
  missing.erase("hidden_size");
  CHECK(refusal_of(missing) ==
        "/hidden_size: \"hidden_size\" is missing; expected the width of the model, a whole "
        "number from 1 to 10000000");
  CHECK(refusal_of(hf_config_with(small(), "num_hidden_layers", 1000000000)) ==
        "/num_hidden_layers: 1000000000 is not valid: expected the layers, a whole number from "
        "1 to 10000");
  for (const json& wrong : {json(-1), json(0), json(1.5), json("8"), json::array({8}), json(true),
                            json(1e300), json::object()}) {
    CAPTURE(wrong.dump());
    CHECK(refusal_of(hf_config_with(small(), "num_attention_heads", wrong))
              .starts_with("/num_attention_heads: "));
  }
  CHECK(refusal_of(hf_config_with(small(), "tie_word_embeddings", 1)) ==
        "/tie_word_embeddings: 1 is not true or false");
  CHECK(refusal_of(hf_config_with(small(), "norm", "batchnorm")) ==
        "/norm: it must be \"rmsnorm\" or \"layernorm\"");
  CHECK(refusal_of({{"model_type", "llama"}, {"text_config", 3}}) ==
        "/text_config: expected an object with the model's fields");
  const json inner{{"model_type", "llama"},
                   {"text_config", hf_config_with(small(), "vocab_size", -1)}};
  CHECK(refusal_of(inner).starts_with("/text_config/vocab_size: -1 is not "));
}

TEST_CASE("numbers that do not go together are refused") {
  CHECK(refusal_of(hf_config_with(small(), "num_key_value_heads", 3)) ==
        "/num_key_value_heads: 3 heads of keys do not divide 8 heads of queries");
  CHECK(refusal_of(hf_config_with(small(), "hidden_size", 65))
            .starts_with("/head_dim: it is missing"));
  json experts = small();
  experts.update({{"num_experts", 2}, {"num_experts_per_tok", 3}, {"moe_intermediate_size", 32}});
  CHECK(refusal_of(experts) == "/num_experts_per_tok: 3 experts cannot be chosen out of 2");
  experts["num_experts_per_tok"] = 2;
  CHECK(refusal_of(hf_config_with(experts, "mlp_only_layers", {0, 4})) ==
        "/mlp_only_layers/1: 4 is no layer; layers are numbered from 0 to 3");
  CHECK(
      refusal_of(hf_config_with(experts, "mlp_only_layers", 0)).starts_with("/mlp_only_layers: "));
  CHECK(refusal_of(hf_config_with(experts, "moe_layer_freq", {0, 1})) ==
        "/moe_layer_freq: it lists 2 layers; it must list 4, as many as there are");
  CHECK(refusal_of(hf_config_with(experts, "moe_layer_freq", {0, 1, 2, 1})) ==
        "/moe_layer_freq/2: 2 is not 1, for a layer with experts, or 0, for one without");
  CHECK(refusal_of(hf_config_with(experts, "moe_layer_freq", "all"))
            .starts_with("/moe_layer_freq: \"all\""));
}

TEST_CASE("what a config leaves out is what its class has, and null is none of it") {
  const auto parameters = [](const json& config) {
    return closed_form_parameters(model(config).spec);
  };
  const json mixtral{{"model_type", "mixtral"}, {"hidden_size", 4096}, {"num_hidden_layers", 32}};
  CHECK(parameters(mixtral) == 46'702'792'704);
  const json mistral = hf_config_with(mixtral, "model_type", "mistral");
  CHECK(parameters(mistral) == 7'241'732'096);
  CHECK(parameters(hf_config_with(mistral, "num_key_value_heads", nullptr)) == 8'047'038'464);
  CHECK(windows(hf_config_with(mistral, "num_hidden_layers", 1)) == "4096");
  CHECK(windows(hf_config_with(hf_config_with(mistral, "num_hidden_layers", 1), "sliding_window",
                               nullptr)) == "0");
  const json deepseek{
      {"model_type", "deepseek_v3"}, {"hidden_size", 7168}, {"num_hidden_layers", 61}};
  CHECK(parameters(deepseek) == 671'026'404'352);
  // As Qwen2-MoE saves what it does not use.
  CHECK(windows(hf_config_with(small(), "sliding_window", 0)) == "0000");
}

TEST_CASE("layers of multi-token prediction that are not read are said to be left out") {
  const json nemotron{
      {"model_type", "nemotron_h"}, {"hidden_size", 4096}, {"hybrid_override_pattern", "M-*"}};
  const std::string note = "the layers of multi-token prediction are left out";
  const auto said = [&](const json& config) {
    const std::vector<std::string> notes = model(config).notes;
    return std::find(notes.begin(), notes.end(), note) != notes.end();
  };
  CHECK_FALSE(said(nemotron));
  CHECK(said(hf_config_with(nemotron, "num_nextn_predict_layers", 1)));
}

TEST_CASE("notes say nothing of attention where a model has none") {
  const json mamba{{"model_type", "mamba2"}, {"hidden_size", 4096}, {"num_hidden_layers", 2}};
  CHECK(model(mamba).notes.empty());
  CHECK(model(small()).notes.front() == "attention is assumed causal and fused (flash)");
}

TEST_CASE("numbers of Python that JSON lacks are read where nothing needs them") {
  const std::string mamba = R"({"model_type": "mamba2", "hidden_size": 4096, "num_layers": 2,
    "num_hidden_layers": 2, "note": "to \"Infinity\"", "time_step_limit": [-Infinity, Infinity]})";
  CHECK(config_refusal(mamba) == "accepted");
  CHECK(
      config_refusal(R"({"model_type": "llama", "num_hidden_layers": 2, "hidden_size": Infinity})")
          .starts_with("/hidden_size: \"hidden_size\" is missing"));
}

TEST_CASE("what is no config at all is refused with a place") {
  CHECK(config_refusal("[]") == "a config is a JSON object");
  CHECK(config_refusal("{\"model_type\": \"llama\", \"hidden_size\": NaN}")
            .starts_with("line 1, column "));
  CHECK(config_refusal("{\"model_type\": \"llama\", ").starts_with("line 1, column "));
  CHECK(says(config_refusal("{\"model_type\": " + std::string(100'000, '[')), "64 levels"));
  CHECK(config_refusal("{\"hidden_size\": 1e999}").starts_with("/hidden_size: "));
  CHECK(config_refusal(std::string("\0\xff\xfe{", 4)).starts_with("line 1, column "));
}

}  // namespace penstock::testing
