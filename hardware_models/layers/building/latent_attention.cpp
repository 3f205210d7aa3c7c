#include <string_view>

#include "hardware_models/layers/building/core_attention.hpp"

namespace penstock {
namespace {

/// Queries, keys and values from their latents: the operator whose outputs need not be kept.
constexpr std::string_view up_projection = "mla_up_projection";

/// Sizes of each tensor, per token or per head.
struct Latent {
  double hidden = 0;
  double queries = 0;  // latent; 0: none
  double keys = 0;     // latent
  double rope = 0;
  double key = 0;  // of a head
  double nope = 0;
  double value = 0;

  /// Weights of the down-projections, replicated in a tensor group.
  double down() const { return hidden * (queries + keys + rope); }
  double up(double heads) const {
    const double from = queries > 0 ? queries : hidden;
    return heads * (from * key + keys * (nope + value) + value * hidden);
  }
  double norms() const { return queries + keys; }
};

Latent latent_of(const LayerNumbers& numbers) {
  return {.hidden = numbers["hidden"],
          .queries = numbers["q_lora_rank"],
          .keys = numbers["kv_lora_rank"],
          .rope = numbers["rope"],
          .key = numbers["nope"] + numbers["rope"],
          .nope = numbers["nope"],
          .value = numbers["value"]};
}

/// The down-projections run outside the tensor group: each device for its own tokens.
void add_down(LayerWork& work, const Latent& latent, const CellShape& shape) {
  const double tokens = shape.tokens_outside_tensor();
  const double number = tokens * shape.activation_size;
  const double latents = latent.queries + latent.keys + latent.rope;
  add_dense(work, {tokens, latent.hidden, latents}, shape.activation_size);
  add_vector(work, 2 * number * latent.norms(), 3 * number * latent.norms());
  const double normed = number * latent.norms() * shape.kept_share();
  work.kept_bytes += number * latents + normed;
  work.uncoded_bytes += narrowed(shape.kept_share(), normed);
  work.pending_weight_bytes += number * latents;
}

void add_up(LayerWork& work, const Latent& latent, double heads, bool flash,
            const CellShape& shape) {
  const double tokens = shape.tokens();
  const double number = tokens * shape.activation_size;
  const double from = latent.queries > 0 ? latent.queries : latent.hidden;
  const double expanded = latent.nope + latent.value;
  const NamedOperator up = begin_operator(work, up_projection);
  add_dense(work, {tokens, from, heads * latent.key}, shape.activation_size);
  add_dense(work, {tokens, latent.keys, heads * expanded}, shape.activation_size);
  const double kernel_share = flash ? shape.attention_share : 1;
  const double of_kernel = number * heads * kernel_share;
  work.uncoded_bytes += narrowed(kernel_share, of_kernel * (2 * latent.key + latent.value));
  end_operator(work, up, of_kernel * (2 * latent.key + latent.value));
  add_dense(work, {tokens, heads * latent.value, latent.hidden}, shape.activation_size);
  // The attention kernel keeps its output too.
  const double share = shape.kept_share();
  const double cast = share < 1 ? heads * latent.value * share : 0;
  const double output = cast > 0 ? cast : heads * latent.value;
  work.kept_bytes += of_kernel * (2 * latent.key + 2 * latent.value) + number * cast;
  work.uncoded_bytes += narrowed(kernel_share, of_kernel * latent.value) + number * cast;
  work.weight_bytes =
      work.input_bytes * share + number * ((latent.queries + latent.keys) * share + output);
  work.pending_weight_bytes += number * (heads * (latent.key + expanded) + latent.hidden);
  work.workspace_bytes += number * heads * (latent.key + expanded);
}

}  // namespace

LayerWork latent_attention(const LayerNumbers& numbers, const CellShape& shape, double chosen) {
  const Latent latent = latent_of(numbers);
  const double heads = numbers.share("heads", shape.tensor);
  LayerWork work;
  work.parameters = latent.down() + latent.norms() + latent.up(numbers["heads"]);
  work.active_parameters = work.parameters;
  work.held_parameters = latent.down() + latent.norms() + latent.up(heads);
  work.input_bytes = work.output_bytes =
      shape.tokens_outside_tensor() * latent.hidden * shape.activation_size;
  work.kept_bytes = work.input_bytes * shape.kept_share();
  work.uncoded_bytes = narrowed(shape.kept_share(), work.kept_bytes);
  count_dense_flops(work, latent.down() + latent.up(numbers["heads"]), tokens_of_all(shape));
  add_down(work, latent, shape);
  add_up(work, latent, heads, numbers.is("flash"), shape);
  add_core_attention(work,
                     {.heads = heads,
                      .kv_heads = heads,
                      .query_size = latent.key,
                      .value_size = latent.value,
                      .causal = numbers.is("causal"),
                      .window = chosen,
                      .flash = numbers.is("flash")},
                     shape);
  add_residual(work, shape, latent.hidden, false);
  const double direct = latent.queries > 0 ? 0 : latent.hidden;
  const NamedOperator gather = begin_operator(work, up_projection);
  enter_tensor_group(work, shape, latent.queries + latent.keys + latent.rope + direct);
  end_operator(work, gather, 0);
  leave_tensor_group(work, shape, latent.hidden);
  return work;
}

}  // namespace penstock
