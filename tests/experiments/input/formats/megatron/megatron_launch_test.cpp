#include "experiments/input/formats/megatron/megatron_launch.hpp"

#include <doctest/doctest.h>

#include <string>

#include "experiments/input/formats/megatron/megatron_stages.hpp"
#include "experiments/input/formats/reading/read_model_file.hpp"
#include "tests/support/megatron_arguments.hpp"
#include "tests/support/model_files.hpp"
#include "tests/support/says.hpp"

namespace penstock::testing {
namespace {

/// A launch of as many blocks as stages have, "E", layers and "L".
TrainingLaunch launch_of_counts(const std::vector<std::uint32_t>& counts) {
  TrainingLaunch launch;
  std::uint32_t next = 0;
  for (const std::uint32_t count : counts) {
    auto& stage = launch.stages.emplace_back();
    for (std::uint32_t i = 0; i < count; ++i) stage.push_back(LayerIndex{next++});
  }
  for (std::uint32_t i = 0; i < next; ++i) {
    launch.model.blocks.push_back({.cut_evenly = i > 0 && i + 1 < next});
  }
  return launch;
}

}  // namespace

TEST_CASE("Megatron-LM: equal stages of a layout are written once, and read back as they are") {
  for (const auto& [counts, text] : std::vector<std::pair<std::vector<std::uint32_t>, std::string>>{
           {{3, 3}, "Et*2|t*2L"},
           {{1, 1, 1, 1, 1}, "E|(t|)*3L"},
           {{4, 3, 3, 2, 1}, "Et*3|(t*3|)*2t*2|L"}}) {
    const TrainingLaunch launch = launch_of_counts(counts);
    CHECK(pipeline_layout(launch) == text);
    std::vector<std::uint32_t> read;
    for (const std::string& stage : pipeline_layout_stages(text)) {
      read.push_back(static_cast<std::uint32_t>(stage.size()));
    }
    CHECK(read == counts);
  }
}

TEST_CASE("Megatron-LM: layers that its script has no arguments for leave the overrides alone") {
  const auto missing = [](LayerSpec layer) {
    ModelSpec model;
    model.blocks.push_back({.name = "block 0", .parts = {{"norm", {}, ""}, std::move(layer)}});
    return missing_in_script(model);
  };
  CHECK(missing({"attention", {{"hidden", 8}, {"heads", 2}}, ""}) == "");
  CHECK(missing({"attention", {{"hidden", 8}, {"heads", 2}, {"gate", 1}}, ""}) ==
        "attention with gate");
  CHECK(missing({"mamba2", {}, ""}) == "mamba2");
  TrainingLaunch launch = launch_of_counts({2, 2});
  CHECK(!says(bridge_overrides(launch), "No script"));
  launch.model.blocks[1].parts = {{"gated_delta", {}, ""}};
  CHECK(says(bridge_overrides(launch),
             "# No script for Megatron-LM: Penstock has no arguments for "
             "gated_delta."));
  launch.model.blocks[1].parts = {{"vision_block", {}, ""}};
  CHECK(pipeline_layout(launch) == "E|tL");  // an encoder has no letter
}

TEST_CASE("Megatron-LM: no script says that blocks differ, or have other norms than two") {
  const auto missing = [](const auto& change) {
    ModelSpec model = parse_model_file(least + " --normalization RMSNorm").spec;
    change(model.blocks[2].parts);
    return missing_in_script(model);
  };
  using Parts = std::vector<LayerSpec>;
  CHECK(missing([](Parts&) {}) == "");
  CHECK(missing([](Parts& parts) { parts[1].numbers["window"] = 128; }) ==
        "attention that differs between layers");
  CHECK(missing([](Parts& parts) { parts[3].numbers["intermediate"] = 8; }) ==
        "mlp that differs between layers");
  const std::string norms = "norms other than one before attention and one before the MLP";
  CHECK(missing([](Parts& parts) { parts.push_back(parts.front()); }) == norms);
  CHECK(missing([](Parts& parts) { parts.erase(parts.begin() + 2); }) == norms);
  CHECK(missing([](Parts& parts) { parts[0].numbers["weights"] = 0; }) == "norm without weights");
}

TEST_CASE("Megatron-LM: no script says that attention, the MLP or experts alone have biases") {
  const auto missing = [](double queries, double output, double network,
                          const std::string& experts = "") {
    ModelSpec model = parse_model_file(least + experts).spec;
    for (BlockSpec& block : model.blocks) {
      for (LayerSpec& part : block.parts) {
        if (part.kind == "mlp" || part.kind == "moe") part.numbers["bias"] = network;
        if (part.kind != "attention") continue;
        part.numbers["qkv_bias"] = queries;
        part.numbers["out_bias"] = output;
      }
    }
    return missing_in_script(model);
  };
  CHECK(missing(1, 1, 1) == "");
  CHECK(missing(1, 0, 0) == "");  // --add-qkv-bias
  CHECK(missing(1, 1, 0) == "biases of attention alone");
  CHECK(missing(0, 0, 1) == "biases of the MLP alone");
  CHECK(missing(1, 0, 1) == "biases of the MLP alone");
  CHECK(missing(0, 1, 1) == "a bias of attention's output alone");
  CHECK(missing(1, 1, 1, " --num-experts 8") == "");
  CHECK(missing(1, 1, 0, " --num-experts 8") == "biases of attention alone");
  CHECK(missing(0, 0, 1, " --num-experts 8") == "biases of experts alone");
}

TEST_CASE("Megatron-LM: a window of the whole sequence is left out of a script") {
  TrainingLaunch launch = launch_of_counts({2, 2});
  launch.model = parse_model_file(least + "--window-size 63,0").spec;  // 64 with its own token
  const auto has_window = [&](double sequence) {
    launch.command.sequence = sequence;
    return says(megatron_script(launch), "--window-size");
  };
  CHECK(has_window(65));
  CHECK_FALSE(has_window(64));
}

TEST_CASE("Megatron-LM: the arguments of a model are read back as the same layers") {
  for (const std::string arguments :
       {"", "--swiglu --disable-bias-linear --normalization RMSNorm --hidden-dropout 0",
        "--group-query-attention --num-query-groups 2 --qk-layernorm --add-qkv-bias",
        "--num-experts 8 --moe-router-topk 2 --moe-ffn-hidden-size 96 --moe-layer-freq [0,1,1,1] "
        "--moe-shared-expert-intermediate-size 64",
        "--multi-latent-attention --q-lora-rank 24 --kv-lora-rank 32 --mtp-num-layers 1",
        "--untie-embeddings-and-output-weights --position-embedding-type rope --window-size 8,0"}) {
    CAPTURE(arguments);
    const ModelSpec model = parse_model_file(least + " " + arguments).spec;
    std::string text;
    for (const MegatronArgument& one : model_arguments(model))
      text += one.name + " " + one.value + " ";
    CAPTURE(text);
    CHECK(parse_model_file(text).spec == model);
  }
}

TEST_CASE("Megatron-LM: tokens go to experts as the layout says, and flex needs a group") {
  TrainingLaunch launch = launch_of_counts({2, 2});
  launch.model.blocks[1].parts = {{"moe", {}, ""}};
  const auto overrides_have = [&](const char* type) {
    const std::string key = "  moe_token_dispatcher_type: ";
    return says(bridge_overrides(launch), key + type);
  };
  launch.command.dispatcher = TokenDispatch::deduplicated;
  CHECK(overrides_have("\"alltoall\""));
  launch.command.expert = 2;
  CHECK(overrides_have("\"flex\""));
  const auto read = [](const std::string& type) {
    return parse_model_file(least + "--num-experts 8 --moe-token-dispatcher-type " + type);
  };
  CHECK(read("flex").command.dispatcher == TokenDispatch::deduplicated);
  CHECK(read("alltoall").command.dispatcher == TokenDispatch::alltoall);
  CHECK(has_note(read("allgather"),
                 "--moe-token-dispatcher-type allgather: tokens are exchanged by all-to-all"));
  const ModelFile unstated = parse_model_file(least + "--num-experts 8");
  CHECK(unstated.command.dispatcher == TokenDispatch::alltoall);
  CHECK(has_note(unstated, "--moe-token-dispatcher-type allgather, the default: tokens are"));
  CHECK_FALSE(parse_model_file(least).command.dispatcher);
}

TEST_CASE("Megatron-Bridge: overrides state what the arguments state") {
  TrainingLaunch launch = launch_of_counts({4, 3, 3, 2, 1, 1});
  launch.command.pipeline = 3;
  launch.command.chunks = 2;
  launch.command.zero = 1;
  launch.command.recompute = RecomputeMode::selective;
  launch.command.recompute_operators = {"norm", "moe_activation"};
  const std::string text = bridge_overrides(launch);
  for (const char* line :
       {"model:\n", "  pipeline_model_parallel_size: 3\n",
        "  pipeline_model_parallel_layout: \"Et*3|(t*3|)*2t*2|t|L\"\n",
        "  recompute_modules: [moe_act,layernorm]\n", "ddp:\n",
        "  use_distributed_optimizer: true\n", "train:\n  micro_batch_size: 1\n"}) {
    CAPTURE(line);
    CHECK(says(text, line));
  }
}

TEST_CASE("Megatron-Bridge: overrides undo what a recipe may state and the layout has not") {
  TrainingLaunch launch = launch_of_counts({2, 2});
  launch.command.sequence = 4096;
  launch.command.dtype = "fp8";
  launch.command.zero = 0;
  const std::string plain = bridge_overrides(launch);
  for (const char* name : {"virtual_pipeline_model_parallel_size", "pipeline_model_parallel_layout",
                           "recompute_granularity", "recompute_method", "recompute_num_layers",
                           "recompute_modules", "num_layers_in_first_pipeline_stage"}) {
    CAPTURE(name);
    CHECK(says(plain, std::string("\n  ") + name + ": null\n"));
  }
  CHECK(says(plain, "\n  cpu_offloading: false\n"));
  CHECK(says(plain, "dataset:\n  seq_length: 4096\n"));
  CHECK(says(plain, "optimizer:\n  optimizer: \"adam\"\n  use_distributed_optimizer: false\n"));
  CHECK(says(plain, "ddp:\n  use_distributed_optimizer: false\n"));
  CHECK(says(plain, "# Precision is the recipe's mixed_precision; this layout has fp8."));
  CHECK_FALSE(says(plain, "# No argument"));
  launch.command.optimizer = Optimizer::none;
  launch.command.chunks = 2;
  launch.command.recompute = RecomputeMode::full;
  const std::string other = bridge_overrides(launch);
  CHECK(says(other, "# No argument says: /memory/optimizer=none\n"));
  CHECK(says(other, "\n  virtual_pipeline_model_parallel_size: 2\n"));
  CHECK(says(other, "\n  recompute_granularity: \"full\"\n  recompute_method: \"uniform\"\n"));
  CHECK(says(other, "\n  recompute_modules: null\n"));
  CHECK_FALSE(says(megatron_script(launch), "null"));
}

TEST_CASE("Megatron: gathers overlap only beside sums, and overrides state what is left out") {
  TrainingLaunch launch = launch_of_counts({2, 2});
  launch.command.overlap_gathers = true;
  CHECK(says(megatron_script(launch), "--overlap-grad-reduce \\\n  --overlap-param-gather"));
  CHECK(says(bridge_overrides(launch), "  overlap_param_gather: true\n"));
  launch.overlaps_sums = false;
  const std::string script = megatron_script(launch), overrides = bridge_overrides(launch);
  CHECK_FALSE(says(script, "\n  --overlap-"));
  CHECK(says(script, "\n# No argument says: /parallel/overlap_gathers=true without"));
  for (const char* key : {"overlap_grad_reduce", "overlap_param_gather", "sequence_parallel"}) {
    CAPTURE(key);
    CHECK(says(overrides, std::string("  ") + key + ": false\n"));
  }
}

}  // namespace penstock::testing
