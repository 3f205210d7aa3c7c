#include <doctest/doctest.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

#include "experiments/input/formats/reading/read_model_file.hpp"
#include "experiments/plan/studies/description.hpp"
#include "hardware_models/layers/registry.hpp"
#include "sim/base/error.hpp"
#include "tests/support/model_files.hpp"
#include "tests/support/model_parameters.hpp"
#include "tests/support/refusal.hpp"

// Configs of public models: their parameters, counted three ways and as their cards say.

namespace penstock::testing {
namespace {

using nlohmann::json;

json public_models() {
  std::ifstream in(PENSTOCK_ROOT "/tests/experiments/input/formats/public_models.json");
  return json::parse(in).at("models");
}

ModelFile public_model(const json& config, std::optional<double> image_tokens = std::nullopt) {
  return parse_model_file(config.dump(),
                          {.format = "", .architecture = "", .image_tokens = image_tokens});
}

json config_of(const std::string& name) {
  for (const json& entry : public_models()) {
    if (entry.at("name") == name) return entry.at("config");
  }
  FAIL("no model ", name);
  return {};
}

/// "A": attention, "G": Gated DeltaNet, "M": Mamba-2, "S": to chosen keys, "-": MLP, "E": experts.
std::string kinds_of(const ModelFile& file, std::size_t blocks) {
  const std::map<std::string, char> all{
      {"attention", 'A'}, {"gated_delta", 'G'}, {"mamba2", 'M'}, {"sparse_attention", 'S'},
      {"mlp", '-'},       {"moe", 'E'},         {"mla", 'L'}};
  std::string text;
  for (const BlockSpec& block : file.spec.blocks) {
    if (!block.cut_evenly || blocks == 0) continue;
    --blocks;
    for (const LayerSpec& part : block.parts) {
      if (const auto letter = all.find(part.kind); letter != all.end()) text += letter->second;
    }
    text += ' ';
  }
  return text;
}

std::string public_refusal(const json& config) {
  return refused_at([&] { public_model(config); });
}

}  // namespace

TEST_CASE("public models have the parameters that are counted for them, and those of their cards") {
  const json models = public_models();
  CHECK(models.size() >= 30);
  for (const json& entry : models) {
    CAPTURE(entry.at("name").get<std::string>());
    const ModelFile file = public_model(entry.at("config"));
    const ModelDescription description = describe(file, {});
    const double parameters = entry.at("parameters");
    CHECK(description.parameters == parameters);
    CHECK(closed_form_parameters(file.spec) == parameters);
    CHECK(closed_form_active_parameters(file.spec) == description.active_parameters);
    const double card = entry.at("card");
    CHECK(std::abs(parameters / 1e9 / card - 1) <= entry.at("card_within").get<double>());
    if (!entry.contains("active_card")) continue;
    const double active = entry.at("active_card"), within = entry.at("active_within");
    CHECK(std::abs(description.active_parameters / 1e9 / active - 1) <= within);
  }
}

// The kinds of a few layers of each, read by eye from its code or its pattern.
TEST_CASE("layers of a hybrid are where its config puts them") {
  const auto of = [](const char* name, std::size_t blocks) {
    return kinds_of(public_model(config_of(name)), blocks);
  };
  CHECK(of("Qwen3-Next-80B-A3B", 5) == "GE GE GE AE GE ");
  CHECK(of("Qwen3.5-27B", 4) == "G- G- G- A- ");
  CHECK(of("Nemotron-H-8B", 9) == "M - M - M - M M - ");
  CHECK(of("Nemotron-3-Nano-30B-A3B", 6) == "M E M E M A ");
  CHECK(of("Falcon-H1-7B", 2) == "MA- MA- ");
  CHECK(of("Mamba-Codestral-7B", 3) == "M M M ");
  CHECK(of("Granite-4.0-H-Small", 6) == "ME ME ME ME ME AE ");
  CHECK(of("Bamba-9B", 10) == "M- M- M- M- M- M- M- M- M- A- ");
  CHECK(of("GLM-5", 4) == "S- S- S- SE ");
  CHECK(of("MiniMax-M2", 2) == "AE AE ");
}

TEST_CASE("layer_types, layers_block_type and an interval say where attention is") {
  json config = config_of("Qwen3.5-27B");
  json& text = config["text_config"];
  text["num_hidden_layers"] = 4;
  text["full_attention_interval"] = 2;
  CHECK(kinds_of(public_model(config), 4) == "G- A- G- A- ");
  text["layer_types"] = {"full_attention", "linear_attention", "linear_attention",
                         "full_attention"};
  CHECK(kinds_of(public_model(config), 4) == "A- G- G- A- ");
  text["layer_types"] = {"full_attention"};
  CHECK(public_refusal(config).starts_with("/text_config/layer_types: it must be a list of 4"));
  json nemotron = config_of("Nemotron-H-8B");
  nemotron.erase("hybrid_override_pattern");
  CHECK(public_refusal(nemotron).starts_with("/hybrid_override_pattern: "));
  nemotron["layers_block_type"] = {"mamba", "moe", "attention", "mlp"};
  CHECK(kinds_of(public_model(nemotron), 4) == "M E A - ");
  nemotron["hybrid_override_pattern"] = "MX";
  CHECK(public_refusal(nemotron).starts_with(
      "/hybrid_override_pattern: \"X\" is no layer; known: M"));
}

// An indexer in every fourth layer from the second on, as index_topk_freq and its offset say.
TEST_CASE("layers without an indexer of their own use the keys of one before") {
  json config = config_of("GLM-5");
  config.update({{"num_hidden_layers", 8}, {"index_topk_freq", 4}});
  const auto indexers = [](const ModelFile& file) {
    std::string text;
    for (const BlockSpec& block : file.spec.blocks) {
      if (block.cut_evenly) text += block.parts[1].numbers.at("indexer") != 0 ? '1' : '0';
    }
    return text;
  };
  CHECK(indexers(public_model(config)) == "11000100");
  config["indexer_types"] = {"full", "shared", "full", "shared", "full", "full", "full", "full"};
  CHECK(indexers(public_model(config)) == "10101111");
}

TEST_CASE("what a config leaves out is what its class has, but not its width and its layers") {
  const auto parameters = [](const json& config) {
    return describe(public_model(config), {}).parameters;
  };
  json config = config_of("DeepSeek-V3.2");
  const json sizes{
      {"model_type", "deepseek_v32"}, {"hidden_size", 7168}, {"num_hidden_layers", 61}};
  CHECK(parameters(sizes) == parameters(config));
  const json minimax{
      {"model_type", "minimax_m2"}, {"hidden_size", 3072}, {"num_hidden_layers", 62}};
  CHECK(parameters(minimax) == parameters(config_of("MiniMax-M2")));
  CHECK(public_refusal({{"model_type", "minimax_m2"}, {"hidden_size", 3072}})
            .starts_with("/num_hidden_layers: "));
  // A name that is stated comes before a default under another name.
  json experts = sizes;
  experts["num_experts"] = 8;
  CHECK(layer(public_model(experts), "moe").numbers.at("experts") == 8);
}

TEST_CASE("an encoder stands before the embedding, for one picture unless tokens are stated") {
  const json config = config_of("Qwen3-VL-8B");
  const ModelFile file = public_model(config);
  REQUIRE(file.spec.blocks.size() == 1 + 27 + 1 + 1 + 36 + 1);
  CHECK(file.spec.blocks[0].name == "patches");
  CHECK(file.spec.blocks[27].name == "vision 26");
  CHECK(file.spec.blocks[28].name == "merger");
  CHECK(file.spec.blocks[29].name == "embedding");
  CHECK_FALSE(file.spec.blocks[5].cut_evenly);
  // A table of 48 by 48 positions; four patches become a token.
  CHECK(layer(file, "vision_block").numbers.at("tokens") == 2304);
  CHECK(layer(public_model(config, 100), "vision_block").numbers.at("tokens") == 400);
  CHECK(public_model(config, 0).spec.blocks.front().name == "embedding");
  CHECK(describe(public_model(config, 100), {}).parameters == describe(file, {}).parameters);
  // Windows of 8 by 8 patches but in every eighth layer, or in those of a list.
  json windows = config_of("Qwen2.5-VL-7B");
  const auto window_of = [&](std::size_t layer) {
    const auto& numbers = public_model(windows).spec.blocks[1 + layer].parts[0].numbers;
    return numbers.contains("window") ? numbers.at("window") : 0;
  };
  CHECK(window_of(6) == 64);
  CHECK(window_of(7) == 0);
  windows["vision_config"]["fullatt_block_indexes"] = {6};
  CHECK(window_of(6) == 0);
  CHECK(window_of(7) == 64);
  json text = config_of("Gemma-3-4B, its text");
  text["vision_config"] = json::object();
  CHECK(public_model(text).notes.back() == "the encoder of \"vision_config\" is left out");
}

}  // namespace penstock::testing
