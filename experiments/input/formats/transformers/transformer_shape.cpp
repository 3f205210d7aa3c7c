#include "experiments/input/formats/transformers/transformer_shape.hpp"

#include <fmt/format.h>

#include <initializer_list>
#include <iterator>
#include <utility>

namespace penstock {
namespace {

using Number = std::pair<const char*, double>;

/// Builds the layers of one shape.
class Builder {
 public:
  explicit Builder(const TransformerShape& shape) : shape_(shape) {}

  BlockSpec embedding() const {
    if (shape_.vision && shape_.vision->tokens > 0) return embedding_of_pictures();
    LayerSpec layer = part("embedding", {{"hidden", shape_.hidden}, {"vocab", shape_.vocab}});
    put_unless_0(layer, "positions", shape_.learned_positions);
    layer.numbers["dropout"] = shape_.hidden_dropout;
    return {.name = "embedding", .parts = {std::move(layer)}, .cut_evenly = false};
  }

  BlockSpec embedding_of_pictures() const {
    LayerSpec layer = part("picture_embedding", {{"hidden", shape_.hidden},
                                                 {"vocab", shape_.vocab},
                                                 {"pictures", shape_.vision->tokens},
                                                 {"deep", shape_.vision->deep}});
    return {.name = "embedding", .parts = {std::move(layer)}, .cut_evenly = false};
  }

  BlockSpec block(std::size_t layer) const {
    return {.name = fmt::format("block {}", layer), .parts = block_parts(layer)};
  }

  /// A block of multi-token prediction: norms of the hidden vector and of the next token's
  /// embedding, their projection to one vector, a block like the last, and logits by the model's
  /// own head.
  BlockSpec further(std::size_t number) const {
    BlockSpec block{.name = fmt::format("further {}", number), .parts = {}, .cut_evenly = false};
    block.predicts_further = true;
    block.parts = {norm(), norm(), projection()};
    for (LayerSpec& layer : block_parts(static_cast<std::size_t>(shape_.layers) - 1)) {
      block.parts.push_back(std::move(layer));
    }
    block.parts.push_back(norm());
    block.parts.push_back(head_part(true));
    return block;
  }

  BlockSpec head() const {
    BlockSpec block{.name = "head", .parts = {}, .cut_evenly = false};
    if (shape_.final_norm) block.parts.push_back(norm());
    block.parts.push_back(head_part(shape_.tied));
    return block;
  }

 private:
  LayerSpec part(const char* kind, std::initializer_list<Number> numbers) const {
    return {.kind = kind, .numbers = {numbers.begin(), numbers.end()}};
  }

  /// 0 means that the feature is absent, so it is not stored.
  static void put_unless_0(LayerSpec& layer, const char* name, double value) {
    if (value != 0) layer.numbers[name] = value;
  }

  LayerSpec norm() const {
    if (shape_.plain_norms) return part("norm", {{"hidden", shape_.hidden}, {"weights", 0}});
    return part("norm", {{"hidden", shape_.hidden}, {"bias", shape_.layer_norm}});
  }

  LayerSpec attention(std::size_t layer) const {
    LayerSpec attention = part("attention", {{"hidden", shape_.hidden},
                                             {"heads", shape_.heads},
                                             {"kv_heads", shape_.kv_heads},
                                             {"head_dim", shape_.head_dim},
                                             {"causal", 1},
                                             {"flash", shape_.flash},
                                             {"qkv_bias", shape_.qkv_bias},
                                             {"out_bias", shape_.out_bias},
                                             {"qk_norm", shape_.qk_norm},
                                             {"dropout", shape_.hidden_dropout}});
    if (shape_.attention_dropout != shape_.hidden_dropout) {
      attention.numbers["score_dropout"] = shape_.attention_dropout;
    }
    put_unless_0(attention, "wide_qk_norm", shape_.qk_norm && shape_.wide_qk_norm);
    put_unless_0(attention, "plain_qk_norm", shape_.qk_norm && shape_.plain_qk_norm);
    put_unless_0(attention, "gate", shape_.output_gate);
    if (layer < shape_.window.size()) put_unless_0(attention, "window", shape_.window[layer]);
    return attention;
  }

  LayerSpec latent_attention(std::size_t layer) const {
    const LatentShape& latent = *shape_.latent;
    const bool sparse = latent.chosen > 0;
    LayerSpec attention =
        part(sparse ? "sparse_attention" : "mla", {{"hidden", shape_.hidden},
                                                   {"heads", shape_.heads},
                                                   {"kv_lora_rank", latent.kv_lora_rank},
                                                   {"nope", latent.nope},
                                                   {"rope", latent.rope},
                                                   {"value", latent.value},
                                                   {"causal", 1},
                                                   {"flash", shape_.flash}});
    put_unless_0(attention, "q_lora_rank", latent.q_lora_rank);
    if (!sparse) return attention;
    attention.numbers["chosen"] = latent.chosen;
    attention.numbers["index_heads"] = latent.index_heads;
    attention.numbers["index_dim"] = latent.index_dim;
    if (!shape_.has_indexer.empty()) attention.numbers["indexer"] = shape_.has_indexer[layer];
    return attention;
  }

  LayerSpec mlp() const {
    return part("mlp", {{"hidden", shape_.hidden},
                        {"intermediate", shape_.intermediate},
                        {"gated", shape_.gated},
                        {"bias", shape_.mlp_bias},
                        {"dropout", shape_.hidden_dropout}});
  }

  LayerSpec moe() const {
    const ExpertShape& experts = *shape_.experts;
    LayerSpec moe = part("moe", {{"hidden", shape_.hidden},
                                 {"experts", experts.experts},
                                 {"chosen", experts.chosen},
                                 {"expert_intermediate", experts.intermediate},
                                 {"gated", shape_.gated}});
    put_unless_0(moe, "shared_intermediate", experts.shared_intermediate);
    put_unless_0(moe, "shared_gate", experts.shared_gate);
    put_unless_0(moe, "bias", experts.bias);
    put_unless_0(moe, "latent", experts.latent);
    put_unless_0(moe, "capacity_factor", experts.capacity_factor);
    return moe;
  }

  /// Projects 2h to h numbers. An MLP of width h has the same 2h² parameters and the same work.
  LayerSpec projection() const {
    return part("mlp", {{"hidden", shape_.hidden},
                        {"intermediate", shape_.hidden},
                        {"gated", 0},
                        {"bias", 0},
                        {"dropout", 0}});
  }

  LayerSpec head_part(bool tied) const {
    LayerSpec head =
        part("head", {{"hidden", shape_.hidden}, {"vocab", shape_.vocab}, {"tied", tied}});
    if (!shape_.fused_loss) head.numbers["fused_loss"] = 0;
    return head;
  }

  bool has_experts(std::size_t layer) const {
    if (!shape_.experts) return false;
    return shape_.has_experts.empty() || shape_.has_experts[layer];
  }

  std::vector<LayerSpec> mixers_of(std::size_t layer) const {
    switch (shape_.mixers.empty() ? Mixer::attention : shape_.mixers[layer]) {
      case Mixer::attention:
        return {shape_.latent ? latent_attention(layer) : attention(layer)};
      case Mixer::state:
        return {shape_.state};
      case Mixer::state_and_attention:
        return {shape_.state, attention(layer)};
      case Mixer::none:
        break;
    }
    return {};
  }

  void add_with_norms(std::vector<LayerSpec>& parts, std::vector<LayerSpec> inner) const {
    if (inner.empty()) return;
    if (shape_.norms_before) parts.push_back(norm());
    std::move(inner.begin(), inner.end(), std::back_inserter(parts));
    if (shape_.norms_after) parts.push_back(norm());
  }

  std::vector<LayerSpec> block_parts(std::size_t layer) const {
    std::vector<LayerSpec> parts;
    add_with_norms(parts, mixers_of(layer));
    const bool network = shape_.has_network.empty() || shape_.has_network[layer];
    if (network) add_with_norms(parts, {has_experts(layer) ? moe() : mlp()});
    return parts;
  }

  const TransformerShape& shape_;
};

}  // namespace

ModelSpec transformer_spec(const TransformerShape& shape) {
  const Builder builder(shape);
  ModelSpec spec;
  if (shape.vision) spec.blocks = shape.vision->blocks;
  spec.blocks.push_back(builder.embedding());
  for (std::size_t layer = 0; layer < static_cast<std::size_t>(shape.layers); ++layer) {
    spec.blocks.push_back(builder.block(layer));
  }
  for (std::size_t number = 0; number < static_cast<std::size_t>(shape.further); ++number) {
    spec.blocks.push_back(builder.further(number));
  }
  spec.blocks.push_back(builder.head());
  return spec;
}

}  // namespace penstock
