#include "hardware_models/model/model_layers.hpp"

#include <doctest/doctest.h>

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
  CHECK(selected.work.recomputes_selected);

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
}

TEST_CASE("embedding and head are not made again with the blocks between them") {
  BlockSpec head{.name = "head",
                 .parts = {{.kind = "head",
                            .numbers = {{"hidden", 64}, {"vocab", 1000}},
                            .source = "/model/layers/0"}},
                 .cut_evenly = false};
  const Layer kept = layer_of(head, RecomputeScope::blocks);
  CHECK(kept.stash_bytes == work_of(head, shape).kept_bytes);
  CHECK(kept.work.recomputes_selected);  // of which it has none
  head.cut_evenly = true;
  CHECK(layer_of(head, RecomputeScope::blocks).stash_bytes == 32768);
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
