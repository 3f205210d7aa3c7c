#include "hardware_models/model/model_layers.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <tuple>

#include "sim/base/error.hpp"

namespace penstock {
namespace {

LayerSpec mlp(double hidden, double intermediate) {
  return {.kind = "mlp",
          .numbers = {{"hidden", hidden}, {"intermediate", intermediate}},
          .source = "/model/layers/0"};
}

LayerSpec classic_attention() {
  return {.kind = "attention",
          .numbers = {{"hidden", 64}, {"heads", 4}, {"flash", 0}, {"dropout", 1}},
          .source = "/model/layers/1"};
}

LayerSpec measured(double forward_us) {
  return {.kind = "measured",
          .numbers = {{"forward_us", forward_us}, {"backward_us", 2 * forward_us}},
          .source = "/model/layers/2"};
}

const CellShape shape{.sequence = 128, .microbatch = 2};

BlockSpec block_of(std::vector<LayerSpec> parts) {
  return {.name = "block", .parts = std::move(parts)};
}

Layer layer_of(const BlockSpec& block, RecomputeScope scope) {
  return graph_of({.blocks = {block}}, shape, scope).layers.front();
}

}  // namespace

TEST_CASE("the parts of a block add up, but it has one input and one output") {
  const LayerWork first = work_of(classic_attention(), shape);
  const LayerWork second = work_of(mlp(64, 256), shape);
  const LayerWork both = work_of(block_of({classic_attention(), mlp(64, 256)}), shape);
  CHECK(both.parameters == first.parameters + second.parameters);
  CHECK(both.kept_bytes == first.kept_bytes + second.kept_bytes);
  CHECK(both.kernels.size() == first.kernels.size() + second.kernels.size());
  CHECK(both.input_bytes == first.input_bytes);
  CHECK(both.output_bytes == second.output_bytes);
}

TEST_CASE("what is not kept is made again: in a workspace block by block, or all of a stage") {
  // 256 tokens of 64 numbers: the input has 32768 bytes.
  const BlockSpec block = block_of({classic_attention(), mlp(64, 256)});
  const LayerWork work = work_of(block, shape);
  const Layer nothing = layer_of(block, RecomputeScope::nothing);
  CHECK(nothing.stash_bytes == work.kept_bytes);
  CHECK(nothing.workspace_bytes == work.workspace_bytes);

  const Layer selected = layer_of(block, RecomputeScope::selected);
  CHECK(selected.stash_bytes == work.kept_selective_bytes);
  CHECK(selected.stash_bytes < work.kept_bytes);
  CHECK(selected.stash_bytes + selected.workspace_bytes == work.kept_bytes + work.workspace_bytes);
  CHECK(selected.work.repeated == Repeated::selected);

  const Layer all = layer_of(block, RecomputeScope::blocks);
  CHECK(all.stash_bytes == 32768);
  CHECK(all.stash_bytes + all.workspace_bytes == work.kept_bytes + work.workspace_bytes);
  CHECK(all.recomputed_bytes == 0);

  const Layer stage = layer_of(block, RecomputeScope::whole_stages);
  CHECK(stage.stash_bytes == 32768);
  CHECK(stage.recomputed_bytes == work.kept_bytes - 32768);
}

TEST_CASE("a recomputed operator keeps its input, and its output is not kept for the next") {
  // The input has 32768 bytes, and so has the norm's output, the input of the network.
  const LayerSpec norm{.kind = "norm", .numbers = {{"hidden", 64}}, .source = "/model/layers/0"};
  const BlockSpec block = block_of({norm, mlp(64, 256)});
  const auto stash = [&](const Operators& operators) {
    return graph_of({.blocks = {block}}, shape, RecomputeScope::selected, operators)
        .layers.front()
        .stash_bytes;
  };
  const double of_norm = work_of(norm, shape).kept_bytes;
  const double of_network = work_of(mlp(64, 256), shape).kept_bytes;
  CHECK(stash({"core_attention"}) == of_norm + of_network);
  CHECK(stash({"mlp"}) == of_norm + 32768);
  CHECK(stash({"norm"}) == 32768 + of_network - 32768);
  CHECK(stash({"norm", "mlp"}) == 32768);
  // Every kernel of F is repeated, and no other.
  for (const Kernel& kernel : work_of(block, shape, {"norm", "mlp"}).kernels) {
    CHECK(kernel.selective == (kernel.pass == Pass::forward));
  }
}

TEST_CASE("the scores of attention are recomputed only where they are named") {
  const auto stash = [&](const Operators& operators) {
    return graph_of({.blocks = {block_of({classic_attention(), mlp(64, 256)})}}, shape,
                    RecomputeScope::selected, operators)
        .layers.front()
        .stash_bytes;
  };
  const double network = work_of(mlp(64, 256), shape).kept_bytes;
  CHECK(stash({"mlp"}) == work_of(classic_attention(), shape).kept_bytes + 32768);
  CHECK(stash({"core_attention"}) < stash({"mlp"}) + network - 32768);
  CHECK(stash({"attention"}) == 32768 + network - 32768);
}

namespace {

/// What a layer gives up where an operator is recomputed, and how many kernels of F are repeated.
struct GivenUp {
  double bytes = 0;
  std::size_t kernels = 0;
  std::size_t collectives = 0;
};

GivenUp given_up(const LayerSpec& layer, const CellShape& cell, const std::string& name) {
  const LayerWork work = work_of(block_of({layer}), cell, {name});
  GivenUp sum{.bytes = work.kept_bytes - work.kept_selective_bytes};
  for (const Kernel& kernel : work.kernels) {
    if (!kernel.selective) continue;
    CHECK(kernel.pass == Pass::forward);
    ++sum.kernels;
  }
  for (const Collective& one : work.collectives) sum.collectives += one.selective ? 1 : 0;
  return sum;
}

LayerSpec moe() {
  return {.kind = "moe",
          .numbers = {{"hidden", 64},
                      {"experts", 8},
                      {"chosen", 2},
                      {"expert_intermediate", 32},
                      {"shared_intermediate", 48}},
          .source = "/model/layers/0"};
}

}  // namespace

TEST_CASE("an operator inside a layer gives up what the next one reads, and repeats its kernels") {
  const double tokens = 256;
  // The activation is one kernel; its input is kept, its output is not.
  const GivenUp dense = given_up(mlp(64, 256), shape, "mlp_activation");
  CHECK(dense.bytes == tokens * 256 * 2);
  CHECK(dense.kernels == 1);
  CellShape narrow = shape;
  narrow.kept_size = 1;  // a product that narrows its input keeps it so
  CHECK(given_up(mlp(64, 256), narrow, "mlp_activation").bytes == tokens * 256);
  const GivenUp routed = given_up(moe(), shape, "moe_activation");
  CHECK(routed.bytes == 2 * tokens * 32 * 2);  // two experts a token
  CHECK(routed.kernels == 1);
  // Shared experts keep nothing of their own: two halves of 48 before their activation, 48 after.
  const GivenUp shared = given_up(moe(), shape, "shared_experts");
  CHECK(shared.bytes == tokens * 3 * 48 * 2);
  CHECK(shared.kernels == 3);
  // Queries and keys of 12 and values of 10 in 4 heads, by two products; the output of attention,
  // which the last product reads, is kept.
  const LayerSpec mla{.kind = "mla",
                      .numbers = {{"hidden", 64},
                                  {"heads", 4},
                                  {"q_lora_rank", 16},
                                  {"kv_lora_rank", 16},
                                  {"nope", 8},
                                  {"rope", 4},
                                  {"value", 10}},
                      .source = "/model/layers/0"};
  const GivenUp up = given_up(mla, shape, "mla_up_projection");
  CHECK(up.bytes == tokens * 4 * (12 + 12 + 10) * 2);
  CHECK(up.kernels == 2);
  CHECK(given_up(mla, shape, "moe_activation").kernels == 0);
}

TEST_CASE("recomputed operators repeat their collectives, and those of others are not repeated") {
  CellShape wide = shape;
  wide.tensor = 2;
  wide.sequence_parallel = true;
  // Gathers before the first product, and reduces and scatters after the second.
  CHECK(given_up(moe(), wide, "shared_experts").collectives == 2);
  CHECK(given_up(moe(), wide, "moe_activation").collectives == 0);
  wide.expert = 2;
  CHECK(given_up(moe(), wide, "moe").collectives == 5);  // those of routed experts, and exchanges
}

TEST_CASE("of the layers of a stage, the first are made again and the others keep everything") {
  const BlockSpec block = block_of({mlp(64, 256)});
  const BlockSpec first = block_of(
      {{.kind = "embedding", .numbers = {{"hidden", 64}, {"vocab", 1000}}, .source = "/first"}});
  const ModelSpec spec{.blocks = {first, block, block, block}};
  const ModelGraph whole = graph_of(spec, shape, RecomputeScope::nothing);
  const Partition all{.stages = {{LayerIndex{0}, LayerIndex{1}, LayerIndex{2}, LayerIndex{3}}},
                      .ranks = {}};
  ModelGraph model = graph_of(spec, shape, RecomputeScope::blocks);
  recompute_layers(model, whole, all, {.first = 2});
  const double kept = whole.layers[1].stash_bytes;
  CHECK(model.layers[0].stash_bytes == whole.layers[0].stash_bytes);  // not counted
  CHECK(model.layers[1].stash_bytes == 32768);
  CHECK(model.layers[2].stash_bytes == 32768);
  CHECK(model.layers[3].stash_bytes == kept);
  CHECK(model.layers[3].work.repeated == Repeated::nothing);
  CHECK(model.layers[3].workspace_bytes == whole.layers[3].workspace_bytes);

  SUBCASE("two together keep one input, and restore the rest of both") {
    ModelGraph pairs = graph_of(spec, shape, RecomputeScope::blocks);
    recompute_layers(pairs, whole, all, {.together = 2});
    CHECK(pairs.layers[1].stash_bytes == 32768);
    CHECK(pairs.layers[2].stash_bytes == 0);
    CHECK(pairs.layers[3].stash_bytes == 32768);  // alone
    CHECK(pairs.layers[1].workspace_bytes == whole.layers[1].workspace_bytes + 2 * kept - 32768);
    CHECK(pairs.layers[3].workspace_bytes == model.layers[1].workspace_bytes);
    // The input of the second is restored for I and read by W.
    CHECK(pairs.layers[2].pending_weight_bytes == model.layers[2].pending_weight_bytes + 32768);
    // The second is made again from what the first puts out.
    CHECK(pairs.layers[1].work.repeated == Repeated::output);
    CHECK(pairs.layers[2].work.repeated == Repeated::all);
    CHECK(pairs.layers[3].work.repeated == Repeated::all);
  }
}

TEST_CASE("a stage made again as a whole keeps the input of its first layer only") {
  const BlockSpec block = block_of({mlp(64, 256)});
  ModelGraph model =
      graph_of({.blocks = {block, block, block}}, shape, RecomputeScope::whole_stages);
  const double again = model.layers[0].recomputed_bytes;
  keep_inputs_of_stages(model,
                        {.stages = {{LayerIndex{0}, LayerIndex{1}}, {LayerIndex{2}}}, .ranks = {}});
  CHECK(model.layers[0].stash_bytes == 32768);
  CHECK(model.layers[1].stash_bytes == 0);
  CHECK(model.layers[1].recomputed_bytes == again + 32768);
  CHECK(model.layers[2].stash_bytes == 32768);
  CHECK(model.layers[0].work.repeated == Repeated::output);
  CHECK(model.layers[1].work.repeated == Repeated::all);
}

TEST_CASE(
    "a block closes with the last product of its network, unless something behind it is kept") {
  const auto closing = [](const BlockSpec& block, const CellShape& on) {
    const LayerWork work = work_of(block, on);
    double flops = 0, bytes = 0;
    for (const Kernel& kernel : work.kernels) {
      if (!kernel.closes) continue;
      CHECK(kernel.pass == Pass::forward);
      (kernel.kind == KernelKind::matrix ? flops : bytes) +=
          kernel.kind == KernelKind::matrix ? kernel.flops : kernel.bytes;
    }
    const auto collectives =
        std::ranges::count_if(work.collectives, [](const Collective& one) { return one.closes; });
    return std::tuple{flops, bytes, collectives};
  };
  using Closing = std::tuple<double, double, std::ptrdiff_t>;
  // 256 tokens by 256 by 64; the sum of three tensors of 32768 bytes behind it.
  const Closing product{2.0 * 256 * 256 * 64, 3 * 32768, 0}, nothing{0, 0, 0};
  CHECK(closing(block_of({mlp(64, 256)}), shape) == product);
  CHECK(closing(block_of({classic_attention(), mlp(64, 256)}), shape) == product);
  CHECK(closing(block_of({mlp(64, 256), classic_attention()}), shape) == nothing);
  LayerSpec masked = mlp(64, 256);
  masked.numbers["dropout"] = 1;
  CHECK(closing(block_of({masked}), shape) == nothing);
  CellShape split = shape;
  split.tensor = 2;
  CHECK(std::get<2>(closing(block_of({mlp(64, 256)}), split)) == 1);  // the sum of the group
  split.sequence_parallel = true;
  CHECK(std::get<2>(closing(block_of({mlp(64, 256)}), split)) == 1);  // the scatter
}

TEST_CASE("embedding and head are not made again with the blocks between them") {
  BlockSpec head{.name = "head",
                 .parts = {{.kind = "head",
                            .numbers = {{"hidden", 64}, {"vocab", 1000}},
                            .source = "/model/layers/0"}},
                 .cut_evenly = false};
  const Layer kept = layer_of(head, RecomputeScope::blocks);
  CHECK(kept.stash_bytes == work_of(head, shape).kept_bytes);
  CHECK(kept.work.repeated == Repeated::selected);  // of which it has none
  CHECK(kept.at_an_end);
  head.cut_evenly = true;  // which is for the cut alone
  CHECK(layer_of(head, RecomputeScope::blocks).stash_bytes == kept.stash_bytes);
  head.parts.insert(head.parts.begin(), mlp(64, 256));
  CHECK(layer_of(head, RecomputeScope::blocks).stash_bytes == 32768);
}

TEST_CASE(
    "norms alone stand at an end, and measured layers where an even cut does not count them") {
  CHECK(is_at_an_end(block_of({{.kind = "norm", .numbers = {{"hidden", 64}}}})));
  BlockSpec unknown = block_of({measured(5)});
  CHECK_FALSE(is_at_an_end(unknown));
  unknown.cut_evenly = false;
  CHECK(is_at_an_end(unknown));
}

TEST_CASE("blocks of an encoder are made again, though an even cut does not count them") {
  BlockSpec encoder =
      block_of({{.kind = "vision_block",
                 .numbers = {{"hidden", 64}, {"heads", 4}, {"intermediate", 256}, {"tokens", 32}},
                 .source = "/model/layers/0"}});
  encoder.cut_evenly = false;
  const Layer layer = layer_of(encoder, RecomputeScope::blocks);
  CHECK(layer.stash_bytes == 2 * 32 * 64 * 2);  // examples, patches, numbers of 2 bytes
  CHECK(layer.work.repeated == Repeated::all);
  CHECK_FALSE(layer.at_an_end);
}

TEST_CASE("a measured layer has its times, and is made again in that of its forward") {
  const Layer layer = layer_of(block_of({measured(5), measured(7)}), RecomputeScope::blocks);
  CHECK(layer.forward_us == 2 * 12);  // two examples
  CHECK(layer.backward_us == 2 * 24);
  CHECK_FALSE(layer.backward_input_us);
  CHECK(layer.recompute_us == 24);
  CHECK(layer_of(block_of({measured(5)}), RecomputeScope::nothing).recompute_us == 0);
  CHECK_THROWS_AS(layer_of(block_of({measured(5), mlp(64, 256)}), RecomputeScope::nothing),
                  InputError);
}

TEST_CASE("weights are held by every device of a context group, experts by what experts leave") {
  CellShape wide = shape;
  wide.context = 2;
  wide.expert = 4;
  const BlockSpec moe = block_of(
      {{.kind = "moe",
        .numbers = {{"hidden", 64}, {"experts", 8}, {"chosen", 2}, {"expert_intermediate", 32}},
        .source = "/model/layers/0"}});
  const auto layer_with = [&](const CellShape& cells) {
    return graph_of({.blocks = {moe}}, cells, RecomputeScope::nothing).layers.front();
  };
  const Layer layer = layer_with(wide);
  CHECK(layer.copies == 2);
  CHECK(layer.expert_copies == 1);  // on four devices, those of two data replicas
  CHECK(layer.expert_spread == 2);
  CHECK(layer.expert_parameter_bytes == 2 * 3 * 64 * 32 * 8 / 4);
  CHECK(layer.parameter_bytes == layer.expert_parameter_bytes + 2 * 64 * 8);
  // Split over a tensor group, four times as many devices hold them; whole, the eight devices of
  // the group hold them twice.
  wide.tensor = 4;
  CHECK(layer_with(wide).expert_copies == 1);
  CHECK(layer_with(wide).expert_spread == 2);
  CHECK(layer_with(wide).expert_parameter_bytes == 2 * 3 * 64 * 8 * 8 / 4);
  wide.expert_tensor = 1;
  CHECK(layer_with(wide).copies == 2);
  CHECK(layer_with(wide).expert_copies == 2);
  CHECK(layer_with(wide).expert_spread == 1);
  CHECK(layer_with(wide).expert_parameter_bytes == 2 * 3 * 64 * 32 * 8 / 4);
}

TEST_CASE("what predicts further tokens hands on what it was given") {
  BlockSpec further = block_of({mlp(64, 256),
                                {.kind = "head",
                                 .numbers = {{"hidden", 64}, {"vocab", 1000}},
                                 .source = "/model/layers/0"}});
  CHECK(layer_of(further, RecomputeScope::nothing).activation_bytes == 0);
  further.predicts_further = true;
  CHECK(layer_of(further, RecomputeScope::nothing).activation_bytes == 32768);
}

}  // namespace penstock
