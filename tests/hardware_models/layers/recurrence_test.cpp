#include <doctest/doctest.h>

#include "tests/support/layers.hpp"
#include "tests/support/refusal.hpp"

// Costs of layers with a state, of attention to chosen keys, and of encoders, by hand.

namespace penstock::testing {
namespace {

const NumbersByName small_mamba{{"hidden", 4}, {"heads", 2}, {"head_dim", 3}, {"state", 5}};
const NumbersByName small_delta{{"hidden", 4},  {"key_heads", 1}, {"value_heads", 2},
                                {"key_dim", 3}, {"value_dim", 5}, {"chunk", 4}};
const NumbersByName small_sparse{{"hidden", 8},  {"heads", 2},       {"kv_lora_rank", 4},
                                 {"nope", 2},    {"rope", 2},        {"value", 2},
                                 {"chosen", 16}, {"index_heads", 2}, {"index_dim", 3}};

const CellShape eight{.sequence = 8};

std::string refused(const NumbersByName& numbers, const char* kind, const CellShape& shape) {
  return refused_at([&] { work_of(kind, numbers, shape); });
}

}  // namespace

// 2 (h (2q + 2v + 2n) + c (2q + v) + 4 n d² + h v) for a token, with q = 2048, v = 4096, n = 32,
// d = 128, c = 4: as Megatron-LM counts Gated DeltaNet.
TEST_CASE(
    "gated_delta: a layer of Qwen3-Next has 71.6 million FLOPs a token, twice that backward") {
  const LayerWork work = work_of("gated_delta", {{"hidden", 2048},
                                                 {"key_heads", 16},
                                                 {"value_heads", 32},
                                                 {"key_dim", 128},
                                                 {"value_dim", 128}});
  CHECK(work.forward_flops == 2048.0 * 71630848);
  CHECK(work.backward_flops == 2 * work.forward_flops);
  CHECK(work.full_attention_flops == 0);
  CHECK(work.parameters == 2048 * 12352 + 4 * 8192 + 64 + 128 + 2048 * 4096);
}

// 2 h (2d + 2 g s + n) + 7 d s + 2 d h for a token, with d = 8192, g = 8, s = 128, n = 128: as
// Megatron-LM counts Mamba-2.
TEST_CASE("mamba2: a layer of Nemotron-H-8B has 226.5 million FLOPs a token, twice that backward") {
  const LayerWork work =
      work_of("mamba2",
              {{"hidden", 4096}, {"heads", 128}, {"head_dim", 64}, {"state", 128}, {"groups", 8}});
  CHECK(work.forward_flops == 2048.0 * 226492416);
  CHECK(work.backward_flops == 2 * work.forward_flops);
}

// Of 8 tokens in bf16: the input, the projection (24 and 30 numbers), the scan's result before the
// norm and after it; Gated DeltaNet also what its scan reads, and a triangle of 4 tokens a head.
TEST_CASE("layers with a state keep their projection and the results of their scan") {
  CHECK(work_of("mamba2", small_mamba, eight).kept_bytes == 16 * (4 + 24 + 6 + 6));
  CHECK(work_of("gated_delta", small_delta, eight).kept_bytes ==
        16 * (4 + 30 + 10 + 10 + 16 + 4 * 2));
  // The chunks that end a sequence take as long as whole ones: 3 of 4 tokens for 9.
  const auto state = [](double tokens) {
    return work_of("gated_delta", small_delta, CellShape{.sequence = tokens}).workspace_bytes -
           2 * tokens * 30;
  };
  CHECK(state(8) == 2 * 4 * 10 * 3);
  CHECK(state(9) == 3 * 4 * 10 * 3);
}

TEST_CASE("layers with a state split their heads over a tensor group") {
  CellShape two = eight;
  two.tensor = 2;
  CHECK(work_of("mamba2", small_mamba).parameters == 4 * 24 + 16 * 5 + 6 + 6 + 6 * 4);
  // One head; what goes into the state and out of it is on both devices.
  CHECK(work_of("mamba2", small_mamba, two).held_parameters == 4 * 17 + 13 * 5 + 3 + 3 + 3 * 4);
  CHECK(collectives_of(work_of("mamba2", small_mamba, two), Pass::forward, Group::tensor) ==
        "all_reduce 64");
  CHECK(refused(small_delta, "gated_delta", two).find("/key_heads") != std::string::npos);
  NumbersByName uneven = small_delta;
  uneven["key_heads"] = 3;
  CHECK(refused(uneven, "gated_delta", eight).find("no multiple of the 3 key heads") !=
        std::string::npos);
}

TEST_CASE("layers with a state exchange their heads over a context group") {
  CellShape two = eight;
  two.context = 2;
  // Four tokens of a device: the projection and the scan's result.
  CHECK(collectives_of(work_of("mamba2", small_mamba, two), Pass::forward, Group::context) ==
        "all_to_all 240");
}

// A token of 64 attends to 14 keys on average when it may choose 16, and the indexer scores 32. The
// dense weights are 48 and 128, those of the indexer 88.
TEST_CASE("sparse_attention: a token attends to the chosen keys, and the indexer scores all") {
  const CellShape shape{.sequence = 64};
  const LayerWork work = work_of("sparse_attention", small_sparse, shape);
  CHECK(work.forward_flops == 64 * (2 * (176 + 88 + 2 * 3 * 32) + 2 * 2 * (4 + 2) * 14));
  CHECK(work.backward_flops == 64 * (4 * 176 + 4 * 2 * (4 + 2) * 14));
  CHECK(work.parameters == 176 + 4 + 88 + 6);
  NumbersByName shared = small_sparse;
  shared["indexer"] = 0;
  const LayerWork without = work_of("sparse_attention", shared, shape);
  CHECK(without.parameters == 176 + 4);
  CHECK(work.kept_bytes - without.kept_bytes == 64 * 16 * 4);  // numbers of the chosen keys
  CHECK(flops_of(work, Pass::backward_input) == flops_of(without, Pass::backward_input));
}

TEST_CASE("attention: a gate is as wide as the queries, and wide norms span the heads") {
  const NumbersByName plain{{"hidden", 6}, {"heads", 4}, {"kv_heads", 2}, {"head_dim", 2}};
  const auto with = [&](std::initializer_list<const char*> flags) {
    NumbersByName numbers = plain;
    for (const char* flag : flags) numbers[flag] = 1;
    return work_of("attention", numbers, eight);
  };
  const LayerWork usual = with({});
  CHECK(with({"gate"}).parameters - usual.parameters == 6 * 8);
  CHECK(with({"gate"}).kept_bytes - usual.kept_bytes == 2 * 8 * 2 * 8);  // gate and product
  CHECK(with({"qk_norm"}).parameters - usual.parameters == 2 * 2);
  CHECK(with({"qk_norm", "wide_qk_norm"}).parameters - usual.parameters == 8 + 4);
}

// Patches of 4 by 4 pixels in 3 colours; 64 of them become 16 tokens.
TEST_CASE("an encoder of pictures runs for its patches, whatever the sequence") {
  const NumbersByName patches{{"hidden", 16}, {"patch", 4}, {"tokens", 64}};
  const LayerWork first = work_of("patches", patches, CellShape{.sequence = 1000});
  CHECK(first.forward_flops == 64 * 2 * 48 * 16);
  CHECK(first.backward_flops == first.forward_flops);
  CHECK(flops_of(first, Pass::backward_input) == 0);
  CHECK(first.output_bytes == 64 * 16 * 2);
  const NumbersByName merger{{"hidden", 16}, {"out", 32}, {"deep", 2}, {"tokens", 64}};
  const LayerWork last = work_of("merger", merger, CellShape{.sequence = 1000});
  CHECK(last.output_bytes == 16 * 32 * 2 * 3);
  CHECK(last.forward_flops == 3 * 16 * 2 * 64 * (64 + 32));
  const LayerWork block =
      work_of("vision_block", {{"hidden", 16}, {"heads", 4}, {"intermediate", 32}, {"tokens", 64}});
  CHECK(block.forward_flops == 64 * (2 * (4 * 16 * 16 + 2 * 16 * 32) + 4 * 64 * 16));
  CHECK(block.full_attention_flops == 0);
  // A patch attends to the 16 of its window instead of to all.
  const LayerWork windows =
      work_of("vision_block",
              {{"hidden", 16}, {"heads", 4}, {"intermediate", 32}, {"tokens", 64}, {"window", 16}});
  CHECK(block.forward_flops - windows.forward_flops == 64 * 4 * (64 - 16) * 16);
  CHECK(windows.parameters == block.parameters);
  CHECK(block.parameters == 4 * 16 + 4 * 16 * 16 + 4 * 16 + 2 * 16 * 32 + 32 + 16);
}

}  // namespace penstock::testing
