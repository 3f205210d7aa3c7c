#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "hardware_models/layers/building/building.hpp"
#include "hardware_models/spec/model_spec.hpp"

namespace penstock {

/// An operation of an AmoebaNet-D cell on one of its states.
enum class CellOperation : std::uint8_t {
  none,
  conv_1x1,
  conv_1x7_7x1,
  conv_3x3,
  max_pool_2x2,
  max_pool_3x3,
  avg_pool_3x3,
};

/// An operation and its input state.
struct CellStep {
  std::size_t state = 0;
  CellOperation operation = CellOperation::none;
};

/// A cell starts with two states, the outputs of the previous cell and of the one before; the
/// results of two steps at a time are summed into a new state.
struct CellTable {
  std::array<CellStep, 10> steps;
  std::span<const std::size_t> joined;  // states in the output, concatenated by channel
  double stride = 1;                    // of steps that read one of the two initial states
};

/// The cells of AmoebaNet-D as in torchgpipe (benchmarks/models/amoebanet/genotype.py). It
/// concatenates the states of the normal cell that TensorFlow does, not those of the paper.
inline constexpr std::array<std::size_t, 4> normal_joined{0, 3, 4, 6};
inline constexpr CellTable amoebanet_normal_table{{{{1, CellOperation::conv_1x1},
                                                    {1, CellOperation::max_pool_3x3},
                                                    {1, CellOperation::none},
                                                    {0, CellOperation::conv_1x7_7x1},
                                                    {0, CellOperation::conv_1x1},
                                                    {0, CellOperation::conv_1x7_7x1},
                                                    {2, CellOperation::max_pool_3x3},
                                                    {2, CellOperation::none},
                                                    {1, CellOperation::avg_pool_3x3},
                                                    {5, CellOperation::conv_1x1}}},
                                                  normal_joined,
                                                  1};
inline constexpr std::array<std::size_t, 3> reduction_joined{4, 5, 6};
inline constexpr CellTable amoebanet_reduction_table{{{{0, CellOperation::max_pool_2x2},
                                                       {0, CellOperation::max_pool_3x3},
                                                       {2, CellOperation::none},
                                                       {1, CellOperation::conv_3x3},
                                                       {2, CellOperation::conv_1x7_7x1},
                                                       {2, CellOperation::max_pool_3x3},
                                                       {3, CellOperation::none},
                                                       {1, CellOperation::max_pool_2x2},
                                                       {2, CellOperation::avg_pool_3x3},
                                                       {3, CellOperation::conv_1x1}}},
                                                     reduction_joined,
                                                     2};

inline constexpr std::array cell_parameters{
    Parameter{"channels_before", "channels from the cell before the previous one", std::nullopt},
    Parameter{"channels_in", "channels from the previous cell", std::nullopt},
    Parameter{"channels", "channels per state, a multiple of 4", std::nullopt},
    Parameter{"height", "height of images from the previous cell", std::nullopt},
    Parameter{"width", "width of images from the previous cell", std::nullopt},
    flag("after_reduction",
         "1: the previous cell was a reduction, so images of the one before are twice as high and "
         "wide",
         0)};

/// The work of a cell. Its outputs are its result and the output of the previous cell.
LayerWork cell_work(const CellTable& table, const LayerNumbers& numbers, const CellShape& shape);

}  // namespace penstock
