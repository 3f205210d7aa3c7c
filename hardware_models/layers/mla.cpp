#include "hardware_models/layers/building/core_attention.hpp"
#include "hardware_models/layers/registry.hpp"

namespace penstock::mla_file {
namespace {

LayerWork work(const LayerNumbers& numbers, const CellShape& shape) {
  return latent_attention(numbers, shape);
}

}  // namespace

constinit extern const LayerKindEntry mla_entry{
    "mla", "multi-head latent attention: keys and values from a low-rank projection",
    latent_parameters, work};

}  // namespace penstock::mla_file
