#include "hardware_models/layers/building/amoebanet.hpp"
#include "hardware_models/layers/registry.hpp"
#include "hardware_models/spec/model_spec.hpp"

namespace penstock::amoebanet_normal_file {
namespace {

/// As in torchgpipe (benchmarks/models/amoebanet/genotype.py), which concatenates the states that
/// TensorFlow does, not those of the paper.
constexpr std::array<std::size_t, 4> joined{0, 3, 4, 6};

}  // namespace
}  // namespace penstock::amoebanet_normal_file

namespace penstock {

constexpr CellTable amoebanet_normal_table{{{{1, CellOperation::conv_1x1},
                                             {1, CellOperation::max_pool_3x3},
                                             {1, CellOperation::none},
                                             {0, CellOperation::conv_1x7_7x1},
                                             {0, CellOperation::conv_1x1},
                                             {0, CellOperation::conv_1x7_7x1},
                                             {2, CellOperation::max_pool_3x3},
                                             {2, CellOperation::none},
                                             {1, CellOperation::avg_pool_3x3},
                                             {5, CellOperation::conv_1x1}}},
                                           amoebanet_normal_file::joined,
                                           1};

}  // namespace penstock

namespace penstock::amoebanet_normal_file {
namespace {

LayerWork work(const LayerNumbers& numbers, const CellShape& shape) {
  return cell_work(amoebanet_normal_table, numbers, shape);
}

}  // namespace

constinit extern const LayerKindEntry amoebanet_normal_entry{
    "amoebanet_normal", "AmoebaNet-D normal cell: keeps the image size", cell_parameters, work};

}  // namespace penstock::amoebanet_normal_file
