#include "hardware_models/layers/building/amoebanet.hpp"
#include "hardware_models/layers/registry.hpp"
#include "hardware_models/spec/model_spec.hpp"

namespace penstock::amoebanet_normal_file {
namespace {

LayerWork work(const LayerNumbers& numbers, const CellShape& shape) {
  return cell_work(amoebanet_normal_table, numbers, shape);
}

}  // namespace

constinit extern const LayerKindEntry amoebanet_normal_entry{
    "amoebanet_normal", "AmoebaNet-D normal cell: keeps the image size", cell_parameters, work};

}  // namespace penstock::amoebanet_normal_file
