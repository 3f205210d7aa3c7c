#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "tests/support/layers.hpp"

namespace penstock::testing {
namespace {

using nlohmann::json;

double number(const json& model, const char* name, double otherwise = 0) {
  const auto found = model.find(name);
  return found != model.end() && found->is_number() ? found->get<double>() : otherwise;
}

double flag_of(const json& model, const char* name) { return model.value(name, false) ? 1 : 0; }

LayerSpec norm_of(const json& model) {
  return spec("norm", {{"hidden", number(model, "hidden_size")},
                       {"bias", model["norm"] == "layernorm" ? 1 : 0}});
}

LayerSpec attention_of(const json& model) {
  const double hidden = number(model, "hidden_size");
  const double heads = number(model, "num_attention_heads");
  if (model.contains("kv_lora_rank")) {
    return spec("mla", {{"hidden", hidden},
                        {"heads", heads},
                        {"q_lora_rank", number(model, "q_lora_rank")},
                        {"kv_lora_rank", number(model, "kv_lora_rank")},
                        {"nope", number(model, "qk_nope_head_dim")},
                        {"rope", number(model, "qk_rope_head_dim")},
                        {"value", number(model, "v_head_dim")}});
  }
  const double bias = flag_of(model, "linear_bias");
  return spec("attention", {{"hidden", hidden},
                            {"heads", heads},
                            {"kv_heads", number(model, "num_key_value_heads")},
                            {"head_dim", number(model, "head_dim")},
                            {"qkv_bias", std::max(bias, flag_of(model, "qkv_bias"))},
                            {"out_bias", bias},
                            {"qk_norm", flag_of(model, "qk_norm")}});
}

LayerSpec feed_forward_of(const json& model, double layer) {
  const double hidden = number(model, "hidden_size");
  const bool experts =
      model.contains("num_experts") && layer >= number(model, "first_k_dense_replace");
  if (!experts) {
    return spec("mlp", {{"hidden", hidden},
                        {"intermediate", number(model, "intermediate_size")},
                        {"gated", flag_of(model, "gated_mlp")},
                        {"bias", flag_of(model, "linear_bias")}});
  }
  const double size = number(model, "moe_intermediate_size");
  const double shared = number(model, "n_shared_experts") * size;
  return spec("moe",
              {{"hidden", hidden},
               {"experts", number(model, "num_experts")},
               {"chosen", number(model, "num_experts_per_tok")},
               {"expert_intermediate", size},
               {"gated", flag_of(model, "gated_mlp")},
               {"shared_intermediate", number(model, "shared_expert_intermediate_size", shared)},
               {"shared_gate", flag_of(model, "shared_expert_gate")}});
}

Layers layers_of(const json& model) {
  const double hidden = number(model, "hidden_size");
  const double vocab = number(model, "vocab_size");
  const bool learned = model.value("learned_pos", false);
  Layers layers = {
      spec("embedding", {{"hidden", hidden},
                         {"vocab", vocab},
                         {"positions", learned ? number(model, "max_position_embeddings") : 0}})};
  for (double layer = 0; layer < number(model, "num_hidden_layers"); ++layer) {
    layers.push_back(norm_of(model));
    layers.push_back(attention_of(model));
    layers.push_back(norm_of(model));
    layers.push_back(feed_forward_of(model, layer));
  }
  layers.push_back(norm_of(model));
  layers.push_back(spec(
      "head",
      {{"hidden", hidden}, {"vocab", vocab}, {"tied", flag_of(model, "tie_word_embeddings")}}));
  return layers;
}

}  // namespace

TEST_CASE("published models have the parameters that their layers add up to, within 0.02 %") {
  const auto facts = oracle("models.json");
  if (!facts) return;
  REQUIRE((*facts)["models"].size() >= 14);
  for (const json& model : (*facts)["models"]) {
    CAPTURE(model["name"].get<std::string>());
    const LayerWork work = work_of(layers_of(model));
    CHECK(work.parameters == doctest::Approx(number(model, "computed_params")).epsilon(2e-4));
    CHECK(work.active_parameters ==
          doctest::Approx(number(model, "computed_active_params")).epsilon(2e-4));
  }
}

TEST_CASE("Llama-3.1-8B has 8,030,261,248 parameters, and one device of four a fourth but norms") {
  // huggingface: 32 layers, hidden 4096, 32 heads over 8, MLP 14336, vocabulary 128256.
  const json model = {
      {"hidden_size", 4096},      {"num_hidden_layers", 32},    {"num_attention_heads", 32},
      {"num_key_value_heads", 8}, {"intermediate_size", 14336}, {"vocab_size", 128256},
      {"head_dim", 128},          {"gated_mlp", true},          {"norm", "rmsnorm"}};
  CellShape shape;
  CHECK(work_of(layers_of(model), shape).parameters == 8030261248);
  shape.tensor = 4;
  const double norms = 65 * 4096;
  CHECK(work_of(layers_of(model), shape).held_parameters == (8030261248 - norms) / 4 + norms);
}

}  // namespace penstock::testing
