#include <algorithm>
#include <array>

#include "hardware_models/layers/building/core_attention.hpp"
#include "hardware_models/layers/registry.hpp"

namespace penstock::sparse_attention_file {
namespace {

constexpr std::array own{
    Parameter{"chosen", "keys that a token attends to (top-k)", std::nullopt},
    Parameter{"index_heads", "heads of the indexer", std::nullopt},
    Parameter{"index_dim", "size of such a head", std::nullopt},
    flag("indexer", "1: an indexer chooses the keys; 0: those of an earlier layer", 1)};

constexpr auto parameters = [] {
  std::array<Parameter, latent_parameters.size() + own.size()> all{};
  std::copy(own.begin(), own.end(),
            std::copy(latent_parameters.begin(), latent_parameters.end(), all.begin()));
  return all;
}();

constexpr double index_bytes = 4, score_bytes = 4;

/// Small heads that score all keys of a token. Each device of a tensor group has all of them. They
/// run in F alone: the choice has no gradient.
struct Indexer {
  double hidden, source, heads, size, chosen;

  explicit Indexer(const LayerNumbers& numbers)
      : hidden(numbers["hidden"]),
        source(numbers["q_lora_rank"] > 0 ? numbers["q_lora_rank"] : hidden),
        heads(numbers["index_heads"]),
        size(numbers["index_dim"]),
        chosen(numbers["chosen"]) {}

  /// Queries from the latent, one key, and a weight for each head.
  double weights() const { return source * heads * size + hidden * (size + heads); }
  double norm() const { return 2 * size; }  // of the key: gains and shifts
};

void add_projections(LayerWork& work, const Indexer& indexer, const CellShape& shape) {
  const auto add = [&](double inner, double columns) {
    Kernel kernel =
        matrix_kernel(Pass::forward, {shape.tokens(), inner, columns}, shape.activation_size);
    kernel.narrows = true;
    work.kernels.push_back(kernel);
  };
  add(indexer.source, indexer.heads * indexer.size);
  add(indexer.hidden, indexer.size);
  add(indexer.hidden, indexer.heads);
}

/// Scores of all keys, and the choice among them; the chosen ones are kept as numbers.
void add_choice(LayerWork& work, const Indexer& indexer, double keys, const CellShape& shape) {
  const double rows = shape.sequence / shape.slices / shape.context;
  const double tokens = shape.tokens();
  Kernel scores =
      matrix_kernel(Pass::forward, {rows, indexer.size, keys, shape.microbatch * indexer.heads}, 0);
  // All heads of a token add up to one score of each key.
  scores.bytes =
      (tokens * indexer.heads + shape.microbatch * keys) * indexer.size * shape.activation_size +
      tokens * keys * score_bytes;
  work.kernels.push_back(scores);
  const double kept = tokens * std::min(indexer.chosen, shape.sequence) * index_bytes;
  work.kernels.push_back(vector_kernel(Pass::forward, tokens * keys * score_bytes + kept));
  work.kept_bytes += kept;
  work.uncoded_bytes += kept;
  if (shape.context == 1) return;
  work.collectives.push_back({.pass = Pass::forward,
                              .kind = CollectiveKind::ring_exchange,
                              .group = Group::context,
                              .bytes = tokens * indexer.size * shape.activation_size});
}

void add_indexer(LayerWork& work, const LayerNumbers& numbers, const CellShape& shape) {
  const Indexer indexer(numbers);
  const double own_parameters = indexer.weights() + indexer.norm();
  work.parameters += own_parameters;
  work.active_parameters += own_parameters;
  work.held_parameters += own_parameters;
  const double keys = numbers.is("causal") ? shape.sequence / 2 : shape.sequence;
  add_projections(work, indexer, shape);
  add_choice(work, indexer, keys, shape);
  work.forward_flops +=
      2 * tokens_of_all(shape) * (indexer.weights() + indexer.heads * indexer.size * keys);
}

LayerWork work(const LayerNumbers& numbers, const CellShape& shape) {
  LayerWork work = latent_attention(numbers, shape, numbers["chosen"]);
  if (numbers.is("indexer")) add_indexer(work, numbers, shape);
  return work;
}

}  // namespace

constinit extern const LayerKindEntry sparse_attention_entry{
    "sparse_attention", "latent attention to the keys that an indexer chooses for each token",
    parameters, work};

}  // namespace penstock::sparse_attention_file
