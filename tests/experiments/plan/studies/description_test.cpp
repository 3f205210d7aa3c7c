#include "experiments/plan/studies/description.hpp"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "experiments/input/formats/reading/read_model_file.hpp"
#include "sim/base/error.hpp"
#include "tests/support/says.hpp"

namespace penstock {
namespace {

// With a picture of 2304 patches, 576 tokens.
const std::string reader = R"({"model_type": "qwen3_vl", "num_hidden_layers": 1,
  "hidden_size": 64, "num_attention_heads": 4, "num_key_value_heads": 2,
  "max_position_embeddings": 8192, "vision_config": {}})";

// h 64, 4 heads of 16 and 2 of keys, f 128, V 1000, two blocks.
const std::string config = R"({ "model_type": "llama", "hidden_size": 64, "num_hidden_layers": 2,
  "num_attention_heads": 4, "num_key_value_heads": 2, "intermediate_size": 128, "vocab_size": 1000,
  "max_position_embeddings": 512, "tie_word_embeddings": false })";

nlohmann::ordered_json described(const std::string& text, const DescriptionOptions& options = {}) {
  return description_json(describe(parse_model_file(text), options));
}

}  // namespace

TEST_CASE("describe: parameters and FLOPs of a small model by hand") {
  // A block: 64 * 16 * 8 + 64 * 64 + 3 * 64 * 128 products and 2 * 64 norms.
  const double products = 64 * 16 * 8 + 64 * 64 + 3 * 64 * 128;
  const auto model = described(config, {.sequence = 256});
  CHECK(model["parameters"] == 2 * (products + 128) + 2 * 64000 + 64);
  CHECK(model["active_parameters"] == model["parameters"]);
  // Two FLOPs a weight and token, logits too, and half the square of scores and values: 2 * s * a *
  // d.
  const double linear = 2 * (2 * products + 64000);
  CHECK(model["forward_flops_per_token"].get<double>() ==
        doctest::Approx(linear + 2 * 2 * 256 * 64));
  CHECK(model["forward_flops_per_token_full_attention"].get<double>() ==
        doctest::Approx(linear + 2 * 4 * 256 * 64));
  CHECK(model["layers"].size() == 4);
  CHECK(model["layers"][1]["kinds"] == "norm, attention, norm, mlp");
}

TEST_CASE("describe: without a sequence it is the most that the model was made for, up to 4096") {
  CHECK(described(config)["sequence"] == 512);
  std::string longer = config;
  longer.replace(longer.find("512"), 3, "131072");
  CHECK(described(longer)["sequence"] == 4096);
}

TEST_CASE("describe: a sequence is no longer than its positions, nor shorter than its pictures") {
  const std::string gpt2 = R"({"model_type": "gpt2", "n_embd": 64, "n_layer": 1, "n_head": 4})";
  CHECK(described(gpt2)["sequence"] == 1024);
  CHECK_THROWS_WITH_AS(described(gpt2, {.sequence = 1025}),
                       "--sequence: 1025 tokens, but 1024 learned positions", UsageError);
  // Its table has two rows more than there are positions.
  const std::string opt = R"({"model_type": "opt", "hidden_size": 64, "num_hidden_layers": 1,
    "num_attention_heads": 4, "ffn_dim": 128, "max_position_embeddings": 512})";
  CHECK(described(opt)["sequence"] == 512);
  CHECK_THROWS_WITH_AS(described(opt, {.sequence = 513}),
                       "--sequence: 513 tokens, but 512 learned positions", UsageError);
  CHECK(described(reader, {.sequence = 576})["sequence"] == 576);
  CHECK_THROWS_AS(described(reader, {.sequence = 575}), UsageError);
}

TEST_CASE("describe: a tensor group shares weights, a microbatch multiplies what is kept") {
  const auto one = described(config, {.sequence = 256});
  const auto two = described(config, {.sequence = 256, .tensor = 2});
  const auto four = described(config, {.sequence = 256, .microbatch = 4});
  CHECK(two["parameters"] == one["parameters"]);
  CHECK(two["layers"][0]["parameter_bytes"].get<double>() * 2 ==
        one["layers"][0]["parameter_bytes"]);
  CHECK(four["layers"][1]["kept_bytes"] == 4 * one["layers"][1]["kept_bytes"].get<double>());
  CHECK(four["forward_flops_per_token"] == one["forward_flops_per_token"]);
}

TEST_CASE("describe: bytes are whole, also where patches do not divide among devices") {
  const auto model = described(reader, {.sequence = 580, .context = 5});
  CHECK(model["activation_bytes"].is_number_integer());
  for (const auto& layer : model["layers"]) {
    CHECK(layer["output_bytes"].is_number_integer());
    CHECK(layer["kept_bytes"].is_number_integer());
    CHECK(layer["kept_full_bytes"].is_number_integer());
  }
  // 2304 / 5 patches with 1152 numbers of 2 bytes: 1,061,683.2.
  CHECK(model["layers"][0]["output_bytes"] == 1'061'683);
}

TEST_CASE("describe: a dense model takes no degrees of experts") {
  const std::string command =
      "torchrun pretrain_gpt.py --num-layers 2 --hidden-size 64 --num-attention-heads 4 "
      "--seq-length 128 --max-position-embeddings 128 --vocab-size 1000 --micro-batch-size 1 "
      "--expert-model-parallel-size ";
  CHECK(described(command + "1")["expert"] == 1);
  CHECK_THROWS_WITH_AS(described(command + "8"),
                       "expert parallelism 8: no layer of the model has experts; leave it out",
                       UsageError);
  CHECK(described(config, {.expert = 1})["expert"] == 1);
  CHECK_THROWS_WITH_AS(described(config, {.expert = 3}),
                       "--expert 3: no layer of the model has experts; leave it out", UsageError);
  CHECK_THROWS_WITH_AS(described(config, {.tensor = 2, .expert_tensor = 2}),
                       "--expert-tensor 2: no layer of the model has experts; leave it out",
                       UsageError);
}

TEST_CASE("describe: narrow products keep the bytes of bf16, and a note says so") {
  const auto narrow = described(config, {.dtype = "fp8"}), wide = described(config);
  CHECK(narrow["parameter_bytes"] == wide["parameter_bytes"]);
  CHECK(narrow["notes"].back() == "fp8 is for products alone: bytes are those of bf16");
  CHECK(narrow["notes"].size() == wide["notes"].size() + 1);
}

TEST_CASE("describe: what predicts further tokens is counted apart") {
  const std::string with =
      R"({ "model_type": "deepseek_v3", "hidden_size": 64, "num_hidden_layers": 2,
    "num_attention_heads": 4, "intermediate_size": 128, "vocab_size": 1000, "kv_lora_rank": 16,
    "q_lora_rank": null, "qk_nope_head_dim": 8, "qk_rope_head_dim": 8, "v_head_dim": 8,
    "n_routed_experts": 8, "num_experts_per_tok": 2, "moe_intermediate_size": 32, "n_shared_experts": 1,
    "first_k_dense_replace": 1, "moe_layer_freq": 1, "num_nextn_predict_layers": 1 })";
  std::string without = with;
  without.replace(without.find("\"num_nextn_predict_layers\": 1"), 29,
                  "\"num_nextn_predict_layers\": 0");
  CHECK(described(with)["parameters"] == described(without)["parameters"]);
  CHECK(described(with)["active_parameters"] < described(with)["parameters"]);
  CHECK(described(with)["further_parameters"] > 0);
  CHECK(described(without)["further_parameters"] == 0);
  const auto model = described(with);
  double further = 0;  // FLOPs of a microbatch
  for (const auto& layer : model["layers"]) {
    if (layer["predicts_further"]) further += layer["forward_flops"].get<double>();
  }
  CHECK(further > 0);
  CHECK(model["further_forward_flops_per_token"].get<double>() ==
        doctest::Approx(further / model["microbatch"].get<double>() /
                        model["sequence"].get<double>()));
  CHECK(described(without)["further_forward_flops_per_token"] == 0);
  CHECK(model["forward_flops_per_token"] == described(without)["forward_flops_per_token"]);
}

TEST_CASE("describe: layers that are alike share a row, and a model by times has sums of times") {
  const std::string text = description_text(describe(parse_model_file(config), {.sequence = 256}));
  CHECK(testing::says(text, "block 0 … block 1"));
  CHECK(testing::says(text, "x 2"));
  const std::string graph =
      "node1 -- a -- forward_compute_time=1.5, backward_compute_time=2, activation_size=4, "
      "parameter_size=8\nnode2 -- b -- forward_compute_time=0.5, backward_compute_time=3, "
      "activation_size=4, parameter_size=0\n\tnode1 -- node2\n";
  const auto model = described(graph);
  CHECK(model["forward_us"] == 2000);
  CHECK(model["backward_us"] == 5000);
  CHECK(model["parameter_bytes"] == 8);
  CHECK(model["edges"] == 1);
  CHECK_FALSE(model.contains("parameters"));
  CHECK_THROWS_WITH_AS(described(graph, {.tensor = 2}),
                       "--tensor: a file of the format pipedream-graph has times of one way to run "
                       "it; leave this out",
                       UsageError);
}

TEST_CASE("describe: a script with any bytes is described as JSON, its excerpts whole") {
  std::string accents;
  for (int i = 0; i < 40; ++i) accents += "é";
  const std::string script =
      "A=\"--save /donn\xE9"
      "es/" +
      accents + " --" + accents + " --x" + accents +
      " --\xFF\xFE 1\"\n"
      "torchrun x.py --num-layers 2 --hidden-size 64 --num-attention-heads 4 --vocab-size 1000 "
      "--max-position-embeddings 64 --optimizer \xE9 ${" +
      accents + "} $A";
  const auto model = described(script);
  CHECK(model["format"] == "megatron-args");
  const std::string text = model.dump();  // would throw for half a character
  CHECK(testing::says(text, "--" + accents.substr(0, 58) + "…"));
  CHECK(testing::says(text, "--x" + accents.substr(0, 56) + "…"));
  CHECK(testing::says(text, "--��"));
  CHECK(testing::says(text, "--optimizer �: "));
}

}  // namespace penstock
