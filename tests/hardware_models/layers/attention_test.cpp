#include <doctest/doctest.h>

#include "sim/base/error.hpp"
#include "tests/support/layers.hpp"
#include "tests/support/refusal.hpp"

namespace penstock::testing {
namespace {

// 4 heads over 2, 3 numbers each: queries 12, keys and values 6 each.
const NumbersByName small = {{"hidden", 10}, {"heads", 4}, {"kv_heads", 2}, {"head_dim", 3}};

}  // namespace

TEST_CASE("attention: weights are hd(a+2g) + adh, and biases and norms of heads come on top") {
  const double weights = 10 * 3 * (4 + 2 * 2) + 4 * 3 * 10;
  CHECK(work_of("attention", small).parameters == weights);
  const NumbersByName all = with(small, {{"qkv_bias", 1}, {"out_bias", 1}, {"qk_norm", 1}});
  CHECK(work_of("attention", all).parameters == weights + 3 * 8 + 10 + 2 * 3);
  CHECK(work_of("attention", with(small, {{"qk_norm", 1}, {"plain_qk_norm", 1}})).parameters ==
        weights);
}

TEST_CASE("attention: heads of keys default to those of queries, and their size to a share") {
  CHECK(work_of("attention", {{"hidden", 8}, {"heads", 4}}).parameters == 4 * 8 * 8);
}

TEST_CASE(
    "attention: flash runs half of the square, and its backward twice that and the scores again, "
    "all of it I") {
  // 16 tokens. Projections 2 * 16 * (10*24 + 12*10); scores and values 4 * 16 * 8 * 12 halved.
  const CellShape shape{.sequence = 16};
  const LayerWork work = work_of("attention", small, shape);
  const double dense = 2 * 16 * (10 * 24 + 12 * 10);
  const double core = 4 * 16 * 8 * 12;
  CHECK(flops_of(work, Pass::forward) == dense + core);
  CHECK(flops_of(work, Pass::backward_input) == dense + 2 * core + core / 2);
  CHECK(flops_of(work, Pass::backward_weight) == dense);
  CHECK(work.forward_flops == dense + core);
  CHECK(work.backward_flops == 2 * (dense + core));
  CHECK(work.full_attention_flops == core);
}

TEST_CASE(
    "attention: without flash the mask saves nothing, and scores are kept; either is made again") {
  const CellShape shape{.sequence = 16};
  const LayerWork flash = work_of("attention", small, shape);
  const LayerWork work = work_of("attention", with(small, {{"flash", 0}}), shape);
  CHECK(work.forward_flops - flash.forward_flops == 4 * 16 * 8 * 12);
  CHECK(work.full_attention_flops == 0);
  // Input 10, queries, keys and values 24, result 12: of 2 bytes each; then 4 x 16 x 16 scores.
  CHECK(work.kept_selective_bytes == 16 * 2 * (10 + 24 + 12));
  CHECK(work.kept_bytes == work.kept_selective_bytes + 2 * 4 * 16 * 16);
  CHECK(flash.kept_bytes == work.kept_selective_bytes + 4 * 4 * 16);
  CHECK(flash.kept_selective_bytes == work.kept_selective_bytes);
  const auto again = [](const LayerWork& of) {
    double flops = 0;
    for (const Kernel& kernel : of.kernels) flops += kernel.selective ? kernel.flops : 0;
    return flops;
  };
  CHECK(again(work) == 4 * 16 * 16 * 12);
  CHECK(again(flash) == 4 * 16 * 8 * 12);
}

TEST_CASE("attention: a window of w leaves w(1 - w/2s) keys to a token, and s/2 where it is wide") {
  const CellShape shape{.sequence = 16};
  const auto core = [&](const NumbersByName& more) {
    return work_of("attention", with(small, more), shape).forward_flops -
           2 * 16 * (10 * 24 + 12 * 10);
  };
  const double of_a_key = 4 * 16 * 12;
  CHECK(core({{"window", 4}}) == of_a_key * 3.5);
  CHECK(core({{"window", 16}}) == of_a_key * 8);
  CHECK(core({{"window", 1000}}) == of_a_key * 8);
  CHECK(core({{"window", 4}, {"causal", 0}}) == of_a_key * 4);
  CHECK(core({{"causal", 0}}) == of_a_key * 16);
}

TEST_CASE("attention: slices of a sequence add up to the whole, and without flash to less") {
  // Without flash a slice of two runs 8 x 8 and 8 x 16 scores: 192 of 256.
  const CellShape whole{.sequence = 16};
  const CellShape half{.sequence = 16, .slices = 2};
  const LayerWork flash = work_of("attention", small, half);
  CHECK(2 * flash.forward_flops == work_of("attention", small, whole).forward_flops);
  const NumbersByName square = with(small, {{"flash", 0}});
  const double saved = work_of("attention", square, whole).forward_flops -
                       2 * work_of("attention", square, half).forward_flops;
  CHECK(saved == 4 * 12 * (256 - 192));
}

TEST_CASE("attention: a tensor group sums outputs in F and input gradients in I") {
  const CellShape shape{.sequence = 16, .tensor = 2};
  const LayerWork work = work_of("attention", small, shape);
  CHECK(collectives_of(work, Pass::forward, Group::tensor) == "all_reduce 320");
  CHECK(collectives_of(work, Pass::backward_input, Group::tensor) == "all_reduce 320");
  CHECK(collectives_of(work, Pass::backward_weight, Group::tensor).empty());
  CHECK(work.held_parameters == work.parameters / 2);
}

TEST_CASE("attention: with sequence parallelism it gathers and scatters, and gathers again for W") {
  const CellShape shape{.sequence = 16, .tensor = 2, .sequence_parallel = true};
  const LayerWork work = work_of("attention", small, shape);
  CHECK(collectives_of(work, Pass::forward, Group::tensor) == "all_gather 320, reduce_scatter 320");
  CHECK(collectives_of(work, Pass::backward_input, Group::tensor) ==
        "reduce_scatter 320, all_gather 320");
  CHECK(collectives_of(work, Pass::backward_weight, Group::tensor) == "all_gather 320");
}

TEST_CASE("attention: context parallelism passes keys and values around, twice as much backward") {
  // 8 tokens of a device, 2 heads, keys and values of 3 numbers of 2 bytes.
  const CellShape shape{.sequence = 16, .context = 2};
  const LayerWork work = work_of("attention", small, shape);
  CHECK(collectives_of(work, Pass::forward, Group::context) == "ring_exchange 192");
  CHECK(collectives_of(work, Pass::backward_input, Group::context) == "ring_exchange 384");
  CHECK(2 * flops_of(work, Pass::forward) == work.forward_flops);
}

TEST_CASE("attention: W waits with the gradients of queries, keys, values and the output") {
  const LayerWork work = work_of("attention", small, CellShape{.sequence = 16});
  CHECK(work.pending_weight_bytes == 16 * 2 * (24 + 10));
}

TEST_CASE("attention: more devices than heads of keys hold these several times") {
  const CellShape shape{.sequence = 16, .tensor = 4};
  // One head of queries and one of keys: 10 * 3 * 3 and 3 * 10 back.
  CHECK(work_of("attention", small, shape).held_parameters == 120);
}

TEST_CASE("attention: dropout of scores alone has no mask of outputs") {
  const auto kept = [](const NumbersByName& more) {
    return work_of("attention", with(small, more), CellShape{.sequence = 16}).kept_bytes;
  };
  CHECK(kept({{"score_dropout", 0.1}}) == kept({}));  // flash attention keeps no mask
  CHECK(kept({{"dropout", 0.1}}) > kept({}));
  const NumbersByName both = {{"flash", 0}, {"dropout", 0.1}};
  CHECK(kept(with(both, {{"score_dropout", 0}})) < kept(both));
}

TEST_CASE("attention: heads that do not come out even are refused where they stand") {
  const auto refused = [&](const NumbersByName& more, double tensor) {
    return refused_at(
        [&] { work_of("attention", with(small, more), CellShape{.tensor = tensor}); });
  };
  CHECK(refused({}, 3) ==
        "/layer/heads: 4 is not divisible among 3 devices of tensor parallelism; it must be a "
        "multiple of that");
  CHECK(refused({{"kv_heads", 3}}, 1) == "/layer/kv_heads: 3 does not divide the 4 heads");
  CHECK(refused({{"heads", 6}, {"kv_heads", 3}}, 2) ==
        "/layer/kv_heads: 3 is not divisible among 2 tensor-parallel devices; one of these must "
        "divide the other");
  CHECK_THROWS_WITH_AS(work_of("attention", {{"hidden", 10}, {"heads", 4}}),
                       "\"head_dim\" is missing, and hidden 10 / 4 heads is not a whole number",
                       InputError);
}

}  // namespace penstock::testing
