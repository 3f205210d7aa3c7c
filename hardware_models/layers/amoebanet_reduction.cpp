#include "hardware_models/layers/building/amoebanet.hpp"
#include "hardware_models/layers/registry.hpp"
#include "hardware_models/spec/model_spec.hpp"

namespace penstock::amoebanet_reduction_file {
namespace {

/// As in torchgpipe (benchmarks/models/amoebanet/genotype.py).
constexpr std::array<std::size_t, 3> joined{4, 5, 6};

}  // namespace
}  // namespace penstock::amoebanet_reduction_file

namespace penstock {

constexpr CellTable amoebanet_reduction_table{{{{0, CellOperation::max_pool_2x2},
                                                {0, CellOperation::max_pool_3x3},
                                                {2, CellOperation::none},
                                                {1, CellOperation::conv_3x3},
                                                {2, CellOperation::conv_1x7_7x1},
                                                {2, CellOperation::max_pool_3x3},
                                                {3, CellOperation::none},
                                                {1, CellOperation::max_pool_2x2},
                                                {2, CellOperation::avg_pool_3x3},
                                                {3, CellOperation::conv_1x1}}},
                                              amoebanet_reduction_file::joined,
                                              2};

}  // namespace penstock

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
