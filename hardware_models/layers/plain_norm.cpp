#include <array>

#include "hardware_models/layers/building/building.hpp"
#include "hardware_models/layers/registry.hpp"

namespace penstock::plain_norm_file {
namespace {

constexpr std::array parameters{Parameter{"hidden", "hidden size", std::nullopt}};

/// Memory-bound: reads and writes its tokens.
LayerWork work(const LayerNumbers& numbers, const CellShape& shape) {
  const double bytes = shape.tokens_outside_tensor() * numbers["hidden"] * shape.activation_size;
  LayerWork work;
  work.input_bytes = work.output_bytes = work.kept_bytes = bytes;
  work.weight_bytes = 0;
  add_vector(work, 2 * bytes, 3 * bytes);
  return work;
}

}  // namespace

constinit extern const LayerKindEntry plain_norm_entry{
    "plain_norm", "LayerNorm without weights, memory-bound", parameters, work};

}  // namespace penstock::plain_norm_file
