#include <array>

#include "hardware_models/layers/building/building.hpp"
#include "hardware_models/layers/registry.hpp"

namespace penstock::picture_embedding_file {
namespace {

constexpr std::array parameters{
    Parameter{"vocab", "vocabulary size", std::nullopt},
    Parameter{"hidden", "hidden size", std::nullopt},
    Parameter{"pictures", "tokens of an example that come from pictures", std::nullopt},
    Parameter{"deep", "vectors that are added to each of these, as layers of a decoder do", 0, 0}};

/// An embedding whose first tokens are replaced by those of pictures. These go in and out; their
/// gradient goes back.
LayerWork work(const LayerNumbers& numbers, const CellShape& shape) {
  const double hidden = numbers["hidden"];
  LayerWork work = work_of({"embedding", {{"vocab", numbers["vocab"]}, {"hidden", hidden}}}, shape);
  const double share = shape.tokens_outside_tensor() / shape.sequence;  // of an example
  const double vector = numbers["pictures"] * share * hidden * shape.activation_size;
  const double vectors = vector * (1 + numbers["deep"]);
  add_vector(work, vector + vectors, vector + vectors);
  return work;
}

}  // namespace

constinit extern const LayerKindEntry picture_embedding_entry{
    "picture_embedding", "token embedding, some of whose tokens come from pictures", parameters,
    work};

}  // namespace penstock::picture_embedding_file
