#include <doctest/doctest.h>

#include <cmath>
#include <map>

#include "tests/support/layers.hpp"
#include "tests/support/refusal.hpp"

namespace penstock::testing {
namespace {

const std::map<std::string, NumbersByName, std::less<>>& samples() {
  const NumbersByName cell = {
      {"channels_before", 32}, {"channels_in", 64}, {"channels", 32}, {"height", 8}, {"width", 8}};
  static const std::map<std::string, NumbersByName, std::less<>> table = {
      {"amoebanet_normal", cell},
      {"amoebanet_reduction", cell},
      {"attention", {{"hidden", 64}, {"heads", 8}, {"kv_heads", 4}}},
      {"classifier", {{"channels", 64}, {"classes", 16}, {"height", 7}, {"width", 7}}},
      {"conditional_conv",
       {{"channels_in", 8}, {"channels_out", 16}, {"height", 8}, {"width", 8}, {"kernels", 4}}},
      {"conv", {{"channels_in", 8}, {"channels_out", 16}, {"height", 8}, {"width", 8}}},
      {"embedding", {{"vocab", 128}, {"hidden", 64}}},
      {"gated_delta",
       {{"hidden", 64}, {"key_heads", 4}, {"value_heads", 8}, {"key_dim", 8}, {"value_dim", 16}}},
      {"head", {{"vocab", 128}, {"hidden", 64}}},
      {"image_map", {{"channels_in", 8}, {"height", 8}, {"width", 8}}},
      {"mamba2", {{"hidden", 64}, {"heads", 8}, {"head_dim", 16}, {"state", 8}, {"groups", 4}}},
      {"measured", {{"forward_us", 3}, {"backward_us", 6}}},
      {"merger", {{"hidden", 16}, {"out", 64}, {"deep", 2}, {"tokens", 64}}},
      {"mla",
       {{"hidden", 64},
        {"heads", 8},
        {"q_lora_rank", 16},
        {"kv_lora_rank", 8},
        {"nope", 8},
        {"rope", 4},
        {"value", 8}}},
      {"mlp", {{"hidden", 64}, {"intermediate", 128}}},
      {"moe", {{"hidden", 64}, {"experts", 8}, {"chosen", 2}, {"expert_intermediate", 32}}},
      {"norm", {{"hidden", 64}}},
      {"patches", {{"hidden", 16}, {"patch", 4}, {"positions", 9}, {"tokens", 64}}},
      {"picture_embedding", {{"vocab", 128}, {"hidden", 64}, {"pictures", 16}}},
      {"sparse_attention",
       {{"hidden", 64},
        {"heads", 8},
        {"q_lora_rank", 16},
        {"kv_lora_rank", 8},
        {"nope", 8},
        {"rope", 4},
        {"value", 8},
        {"chosen", 16},
        {"index_heads", 4},
        {"index_dim", 8}}},
      {"vision_block", {{"hidden", 16}, {"heads", 4}, {"intermediate", 32}, {"tokens", 64}}}};
  return table;
}

double kernel_flops(const LayerWork& work) {
  return flops_of(work, Pass::forward) + flops_of(work, Pass::backward_input) +
         flops_of(work, Pass::backward_weight);
}

std::string refused(std::string_view kind, const NumbersByName& numbers) {
  return refused_at([&] { work_of(kind, numbers); });
}

}  // namespace

TEST_CASE("every kind of layer: FLOPs of the model are those that its devices run") {
  for (const LayerKindEntry* kind : layer_kind_entries()) {
    CAPTURE(kind->name);
    REQUIRE(samples().count(kind->name) == 1);
    NumbersByName numbers = samples().find(kind->name)->second;
    // Fused, a backward runs the scores once more than the model says.
    if (kind->name == "attention" || kind->name == "mla") numbers["flash"] = 0;
    // An indexer has no backward.
    if (kind->name == "sparse_attention") numbers["flash"] = numbers["indexer"] = 0;
    // Products of chunks are more than the recurrence that the model states, and a block of an
    // encoder is fused: tests of their own.
    if (kind->name == "mamba2" || kind->name == "gated_delta" || kind->name == "vision_block") {
      continue;
    }
    const double backward = kind->name == "patches" ? 1 : 2;  // pictures have no gradient
    for (const double tensor : {1.0, 2.0, 4.0}) {
      // Conditional convolutions weigh kernels on each device of a tensor group.
      if (kind->name == "conditional_conv" && tensor > 1) continue;
      const CellShape shape{.sequence = 64, .tensor = tensor, .sequence_parallel = true};
      const LayerWork work = work_of(kind->name, numbers, shape);
      CHECK(kernel_flops(work) * tensor ==
            doctest::Approx(work.forward_flops + work.backward_flops));
      CHECK(work.backward_flops == doctest::Approx(backward * work.forward_flops));
    }
  }
}

TEST_CASE("every kind of layer: what it does is in proportion to its examples") {
  for (const LayerKindEntry* kind : layer_kind_entries()) {
    CAPTURE(kind->name);
    const NumbersByName& numbers = samples().find(kind->name)->second;
    const LayerWork one = work_of(kind->name, numbers, {});
    const LayerWork three = work_of(kind->name, numbers, CellShape{.microbatch = 3});
    CHECK(kernel_flops(three) == doctest::Approx(3 * kernel_flops(one)));
    CHECK(three.forward_flops == doctest::Approx(3 * one.forward_flops));
    CHECK(three.kept_bytes == doctest::Approx(3 * one.kept_bytes));
    CHECK(three.output_bytes == doctest::Approx(3 * one.output_bytes));
    CHECK(three.parameters == one.parameters);
    CHECK(three.held_parameters == one.held_parameters);
  }
}

TEST_CASE("every kind of layer: selective recomputation keeps less, or the same, and the input") {
  for (const LayerKindEntry* kind : layer_kind_entries()) {
    CAPTURE(kind->name);
    const LayerWork work = work_of(kind->name, samples().find(kind->name)->second);
    CHECK(work.kept_selective_bytes <= work.kept_bytes);
    CHECK(work.kept_selective_bytes >= work.input_bytes);
    CHECK(work.active_parameters <= work.parameters);
    CHECK(work.held_parameters + work.held_expert_parameters == work.parameters);
  }
}

TEST_CASE("every kind of layer: numbers as large as are allowed give finite sizes") {
  for (const LayerKindEntry* kind : layer_kind_entries()) {
    CAPTURE(kind->name);
    NumbersByName numbers;
    for (const Parameter& parameter : kind->parameters) {
      numbers[std::string(parameter.name)] = parameter.most;
    }
    const LayerWork work = work_of(kind->name, numbers, CellShape{.sequence = 1e9});
    CHECK(std::isfinite(work.parameters + work.forward_flops + work.backward_flops));
    CHECK(std::isfinite(work.kept_bytes + work.output_bytes + kernel_flops(work)));
  }
}

TEST_CASE("layers: unknown kinds and keys, missing numbers and such out of range are refused") {
  CHECK(refused("mlp", {{"hidden", 4}}) ==
        "/layer/intermediate: \"intermediate\" is missing; mlp needs it (size between the dense "
        "layers)");
  CHECK(refused("norm", {{"hidden", 4}, {"gain", 1}}) ==
        "/layer/gain: unknown key \"gain\"; norm takes hidden, bias, weights");
  CHECK(refused("norm", {{"hidden", 4.5}}) ==
        "/layer/hidden: 4.5 is not a whole number from 1 to 1000000000000000 "
        "(hidden size)");
  CHECK(refused("mlpp", {}).find("/layer/kind: unknown kind \"mlpp\"; known: amoebanet_normal") ==
        0);
  for (const double wrong : {0.0, -1.0, 1e16, double(NAN), double(INFINITY)}) {
    CAPTURE(wrong);
    CHECK(refused("norm", {{"hidden", wrong}}) != "accepted");
    CHECK(refused("attention", {{"hidden", 4}, {"heads", 2}, {"head_dim", wrong}}) != "accepted");
  }
}

TEST_CASE("measured: times are in proportion to the examples that they were measured on") {
  // 3 and 6 us of 4 examples; a cell has 6 of them, or half as many in two slices.
  const NumbersByName numbers = {{"forward_us", 3},
                                 {"backward_us", 6},
                                 {"at_examples", 4},
                                 {"stash_bytes", 8},
                                 {"parameters", 5}};
  const LayerWork work = work_of("measured", numbers, CellShape{.microbatch = 6});
  CHECK(work.forward_us == 4.5);
  CHECK(work.backward_us == 9);
  CHECK(!work.backward_input_us);
  CHECK(work.kept_bytes == 12);
  CHECK(work.parameters == 5);
  const CellShape sliced{.microbatch = 6, .slices = 2};
  CHECK(work_of("measured", numbers, sliced).forward_us == 2.25);
}

TEST_CASE("measured: I gives back what W does not read, and leaves it what it made") {
  // Of 12 bytes of 4 examples W reads 5; I adds 3. A cell has twice as many examples.
  const NumbersByName numbers = {{"forward_us", 1},   {"backward_us", 2},
                                 {"at_examples", 4},  {"stash_bytes", 12},
                                 {"weight_bytes", 5}, {"pending_weight_bytes", 3}};
  const LayerWork work = work_of("measured", numbers, CellShape{.microbatch = 8});
  CHECK(work.weight_bytes == 10);
  CHECK(work.pending_weight_bytes == 6);
  const NumbersByName all = {{"forward_us", 1}, {"backward_us", 2}, {"stash_bytes", 12}};
  CHECK(!work_of("measured", all).weight_bytes);
  CHECK(refused("measured", {{"forward_us", 1}, {"backward_us", 2}, {"weight_bytes", 1}}) ==
        "/layer/weight_bytes: larger than stash_bytes, of which it is a part");
}

TEST_CASE("measured: a backward is stated whole or in both parts") {
  CHECK(refused("measured", {{"forward_us", 3}}) ==
        "/layer/backward_us: missing: give the backward or both its parts");
  CHECK(refused("measured", {{"forward_us", 3}, {"backward_input_us", 3}}) ==
        "/layer/backward_weight_us: missing: the other part of the backward is given");
  const NumbersByName parts = {
      {"forward_us", 3}, {"backward_input_us", 2}, {"backward_weight_us", 1}};
  CHECK(work_of("measured", parts).backward_weight_us == 1);
}

TEST_CASE("inputs of products are kept in their precision, other activations in theirs") {
  // 10 tokens. An mlp 6 -> 8 -> 6 keeps two inputs of products, 60 and 80 numbers, and the input of
  // its activation, 80. An attention keeps its input, q, k and v, and its output twice: for itself
  // and for its projection.
  const CellShape wide{.sequence = 10}, narrow{.sequence = 10, .kept_size = 1};
  const NumbersByName network = {{"hidden", 6}, {"intermediate", 8}};
  CHECK(work_of("mlp", network, wide).kept_bytes == 2 * (60 + 80 + 80));
  CHECK(work_of("mlp", network, narrow).kept_bytes == 60 + 80 + 2 * 80);
  CHECK(*work_of("mlp", network, narrow).weight_bytes == 60 + 80);
  const NumbersByName heads = {{"hidden", 8}, {"heads", 2}};
  const double sums = 4 * 10 * 2;
  CHECK(work_of("attention", heads, wide).kept_bytes == 2 * (80 + 3 * 80 + 80) + sums);
  CHECK(work_of("attention", heads, narrow).kept_bytes == 80 + 2 * (3 * 80 + 80) + 80 + sums);
  CHECK(*work_of("attention", heads, narrow).weight_bytes == 80 + 80);
  CHECK(work_of("norm", {{"hidden", 6}}, narrow).kept_bytes ==
        work_of("norm", {{"hidden", 6}}, wide).kept_bytes);
}

TEST_CASE("narrow attention keeps what it took in its precision, casts it, and sends it around") {
  CellShape shape{.sequence = 10, .kept_size = 1, .context = 2};
  NumbersByName heads = {{"hidden", 8}, {"heads", 2}};
  const LayerWork wide = work_of("attention", heads, shape);
  shape.attention_share = 0.5;
  const LayerWork narrow = work_of("attention", heads, shape);
  // 5 tokens of a device: q, k, v and the output.
  CHECK(wide.kept_bytes - narrow.kept_bytes == 5 * (3 * 8 + 8));
  CHECK(narrow.kernels.size() == wide.kernels.size() + 2);
  // Keys and values; on the way back with their gradients, which stay wide.
  CHECK(collectives_of(wide, Pass::forward, Group::context) == "ring_exchange 160");
  CHECK(collectives_of(narrow, Pass::forward, Group::context) == "ring_exchange 80");
  CHECK(collectives_of(narrow, Pass::backward_input, Group::context) == "ring_exchange 240");
  heads["flash"] = 0;
  CHECK(work_of("attention", heads, shape).kept_bytes ==
        work_of("attention", heads, {.sequence = 10, .kept_size = 1, .context = 2}).kept_bytes);
}

}  // namespace penstock::testing
