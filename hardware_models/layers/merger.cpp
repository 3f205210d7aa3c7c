#include <array>

#include "hardware_models/layers/building/building.hpp"
#include "hardware_models/layers/registry.hpp"

namespace penstock::merger_file {
namespace {

constexpr std::array parameters{
    Parameter{"hidden", "width of a patch's vector", std::nullopt},
    Parameter{"side", "patches of a side that become one token", 2},
    Parameter{"out", "width of a token", std::nullopt},
    Parameter{"deep", "further mergers, of the outputs of inner layers", 0, 0},
    flag("norm_bias", "1: LayerNorm; 0: RMSNorm", 1),
    patches_of_layer};

/// A norm, two dense layers with biases and an activation. Further mergers norm what they have
/// joined, the first one each patch.
LayerWork work(const LayerNumbers& numbers, const CellShape& shape) {
  const double hidden = numbers["hidden"], out = numbers["out"];
  const double patches_of_token = numbers["side"] * numbers["side"];
  const double joined = hidden * patches_of_token;
  const double mergers = 1 + numbers["deep"];
  const double own = joined / shape.tensor;
  const double gains = (numbers.is("norm_bias") ? 2 : 1) * (hidden + numbers["deep"] * joined);
  const double outside = mergers * shape.tokens_outside_tensor() * shape.activation_size;
  const double tokens = mergers * shape.tokens() / patches_of_token;
  const double number = tokens * shape.activation_size;
  LayerWork work;
  const auto count = [&](double wide) {
    return gains + mergers * (wide * (joined + 1 + out) + out);
  };
  work.parameters = work.active_parameters = count(joined);
  work.held_parameters = count(own);
  work.input_bytes = outside * hidden;
  work.output_bytes = outside * out / patches_of_token;
  work.kept_bytes = work.input_bytes * (1 + shape.kept_share()) + number * own * 2;
  work.uncoded_bytes = narrowed(shape.kept_share(), work.input_bytes * shape.kept_share());
  work.weight_bytes = work.input_bytes * shape.kept_share() + number * own;
  work.pending_weight_bytes = number * (own + out);
  work.workspace_bytes = number * own;
  add_vector(work, 2 * work.input_bytes, 3 * work.input_bytes);
  add_dense(work, {tokens, joined, own}, shape.activation_size);
  add_vector(work, 2 * number * own, 3 * number * own);
  add_dense(work, {tokens, own, out}, shape.activation_size);
  count_dense_flops(work, joined * (joined + out),
                    mergers * tokens_of_all(shape) / patches_of_token);
  enter_tensor_group(work, shape, mergers * hidden);
  leave_tensor_group(work, shape, mergers * out / patches_of_token);
  return work;
}

}  // namespace

constinit extern const LayerKindEntry merger_entry{
    "merger", "neighbouring patches as tokens of a decoder, by two dense layers", parameters, work};

}  // namespace penstock::merger_file
