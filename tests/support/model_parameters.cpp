#include "tests/support/model_parameters.hpp"

#include <stdexcept>

namespace penstock::testing {
namespace {

/// The numbers of a layer; a missing one is 0.
class ModelNumbers {
 public:
  explicit ModelNumbers(const LayerSpec& layer) : layer_(layer) {}
  double operator[](const char* name) const {
    const auto found = layer_.numbers.find(name);
    return found == layer_.numbers.end() ? 0 : found->second;
  }

 private:
  const LayerSpec& layer_;
};

double attention(const ModelNumbers& n) {
  const double queries = n["heads"] * n["head_dim"];
  const double all = queries + 2 * n["kv_heads"] * n["head_dim"];
  return n["hidden"] * (all + queries) + n["qkv_bias"] * all + n["out_bias"] * n["hidden"] +
         n["gate"] * n["hidden"] * queries +
         n["qk_norm"] * (1 - n["plain_qk_norm"]) *
             (n["wide_qk_norm"] != 0 ? queries + n["kv_heads"] * n["head_dim"] : 2 * n["head_dim"]);
}

/// One after the other: what steers the state, what is convolved, gate, step of each head; then the
/// vectors of each head, the norm, and the way back.
double mamba2(const ModelNumbers& n) {
  const double inner = n["heads"] * n["head_dim"];
  const double steering = 2 * n["groups"] * n["state"];
  const double columns = steering + 2 * inner + n["heads"];
  return n["hidden"] * columns + n["in_bias"] * columns +
         (inner + steering) * (n["conv"] + n["conv_bias"]) + 3 * n["heads"] + n["norm"] * inner +
         inner * n["hidden"] + n["out_bias"] * n["hidden"];
}

double gated_delta(const ModelNumbers& n) {
  const double keys = n["key_heads"] * n["key_dim"], values = n["value_heads"] * n["value_dim"];
  const double queries_keys_values = keys + keys + values;
  const double gate = values, decay_and_share = 2 * n["value_heads"];
  return n["hidden"] * (queries_keys_values + gate + decay_and_share) +
         n["conv"] * queries_keys_values + decay_and_share + n["value_dim"] + values * n["hidden"];
}

double vision_block(const ModelNumbers& n) {
  const double norms = 2 * (1 + n["norm_bias"]) * n["hidden"];
  const double attention = 4 * n["hidden"] * n["hidden"] + 4 * n["hidden"];
  const double wide = n["intermediate"] * (1 + n["gated"]);
  return norms + attention + (n["hidden"] + 1) * wide + (n["intermediate"] + 1) * n["hidden"];
}

double merger(const ModelNumbers& n) {
  const double joined = n["side"] * n["side"] * n["hidden"];
  const double layers = (joined + 1) * joined + (joined + 1) * n["out"];
  const double norms = (1 + n["norm_bias"]) * (n["hidden"] + n["deep"] * joined);
  return (1 + n["deep"]) * layers + norms;
}

double patches(const ModelNumbers& n) {
  const double pixels = n["channels"] * n["frames"] * n["patch"] * n["patch"];
  return n["hidden"] * (pixels + n["bias"]) + n["positions"] * n["hidden"];
}

double indexer(const ModelNumbers& n, bool there) {
  if (!there) return 0;
  const double source = n["q_lora_rank"] != 0 ? n["q_lora_rank"] : n["hidden"];
  const double norm = 2 * n["index_dim"];
  return source * n["index_heads"] * n["index_dim"] + n["hidden"] * n["index_dim"] + norm +
         n["hidden"] * n["index_heads"];
}

double mla(const ModelNumbers& n) {
  const double head = n["nope"] + n["rope"];
  const double rank = n["q_lora_rank"];
  const double queries =
      rank == 0 ? n["hidden"] * n["heads"] * head : rank * (n["hidden"] + n["heads"] * head + 1);
  const double keys = n["hidden"] * (n["kv_lora_rank"] + n["rope"]) +
                      n["kv_lora_rank"] * (1 + n["heads"] * (n["nope"] + n["value"]));
  return queries + keys + n["heads"] * n["value"] * n["hidden"];
}

double mlp(const ModelNumbers& n, double width) { return (2 + n["gated"]) * n["hidden"] * width; }

double moe(const ModelNumbers& n, double experts) {
  const double read = n["latent"] != 0 ? n["latent"] : n["hidden"];
  const double projections = n["latent"] != 0 ? 2 * n["latent"] * n["hidden"] : 0;
  const double expert = (2 + n["gated"]) * read * n["expert_intermediate"];
  const double biases = (1 + n["gated"]) * n["expert_intermediate"] + read;
  return experts * (expert + n["bias"] * biases) + projections + mlp(n, n["shared_intermediate"]) +
         n["hidden"] * (n["experts"] + n["shared_gate"]) + n["bias"] * n["experts"];
}

double parameters(const LayerSpec& layer, bool active) {
  const ModelNumbers n(layer);
  if (layer.kind == "embedding") return n["hidden"] * (n["vocab"] + n["positions"]);
  if (layer.kind == "picture_embedding") return n["hidden"] * n["vocab"];
  if (layer.kind == "norm") {
    return n["hidden"] * (layer.numbers.contains("weights") ? 0 : 1 + n["bias"]);
  }
  if (layer.kind == "attention") return attention(n);
  if (layer.kind == "mla") return mla(n);
  if (layer.kind == "sparse_attention") {
    return mla(n) + indexer(n, !layer.numbers.contains("indexer") || n["indexer"] != 0);
  }
  if (layer.kind == "mamba2") return mamba2(n);
  if (layer.kind == "gated_delta") return gated_delta(n);
  if (layer.kind == "patches") return patches(n);
  if (layer.kind == "vision_block") return vision_block(n);
  if (layer.kind == "merger") return merger(n);
  if (layer.kind == "mlp") {
    return mlp(n, n["intermediate"]) + n["bias"] * (n["intermediate"] + n["hidden"]);
  }
  if (layer.kind == "moe") return moe(n, active ? n["chosen"] : n["experts"]);
  if (layer.kind == "head") return n["tied"] != 0 ? 0 : n["hidden"] * n["vocab"];
  throw std::runtime_error("no closed form of " + layer.kind);
}

double sum(const ModelSpec& spec, bool active) {
  double sum = 0;
  for (const BlockSpec& block : spec.blocks) {
    if (block.predicts_further) continue;
    for (const LayerSpec& layer : block.parts) sum += parameters(layer, active);
  }
  return sum;
}

}  // namespace

double closed_form_parameters(const ModelSpec& spec) { return sum(spec, false); }

double closed_form_active_parameters(const ModelSpec& spec) { return sum(spec, true); }

}  // namespace penstock::testing
