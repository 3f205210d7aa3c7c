#include "hardware_models/layers/building/amoebanet.hpp"
#include "hardware_models/layers/registry.hpp"
#include "hardware_models/spec/model_spec.hpp"

namespace penstock::amoebanet_reduction_file {
namespace {

LayerWork work(const LayerNumbers& numbers, const CellShape& shape) {
  return cell_work(amoebanet_reduction_table, numbers, shape);
}

}  // namespace

constinit extern const LayerKindEntry amoebanet_reduction_entry{
    "amoebanet_reduction", "AmoebaNet-D reduction cell: halves height and width", cell_parameters,
    work};

}  // namespace penstock::amoebanet_reduction_file
