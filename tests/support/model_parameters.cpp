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
         n["qk_norm"] * 2 * n["head_dim"];
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
  return experts * mlp(n, n["expert_intermediate"]) + mlp(n, n["shared_intermediate"]) +
         n["hidden"] * (n["experts"] + n["shared_gate"]);
}

double parameters(const LayerSpec& layer, bool active) {
  const ModelNumbers n(layer);
  if (layer.kind == "embedding") return n["hidden"] * (n["vocab"] + n["positions"]);
  if (layer.kind == "norm") return n["hidden"] * (1 + n["bias"]);
  if (layer.kind == "attention") return attention(n);
  if (layer.kind == "mla") return mla(n);
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
