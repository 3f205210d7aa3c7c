#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "hardware_models/layers/building/layer_work.hpp"
#include "hardware_models/spec/model_spec.hpp"

namespace penstock {

/// What a cell of AmoebaNet-D does to one of its states.
enum class CellOperation : std::uint8_t {
  none,
  conv_1x1,
  conv_1x7_7x1,
  conv_3x3,
  max_pool_2x2,
  max_pool_3x3,
  avg_pool_3x3,
};

/// An operation, and the state that it takes.
struct CellStep {
  std::size_t state = 0;
  CellOperation operation = CellOperation::none;
};

/// A cell starts with two states, what came from the cell before and from the one before that; two
/// steps at a time are summed into a new one.
struct CellTable {
  std::array<CellStep, 10> steps;
  std::span<const std::size_t> joined;  // states that go on, as channels side by side
  double stride = 1;                    // of steps that take one of the two states it starts with
};

inline constexpr std::array cell_parameters{
    Parameter{"channels_before", "that come from the cell before the last", std::nullopt},
    Parameter{"channels_in", "that come from the cell before", std::nullopt},
    Parameter{"channels", "of each state, a multiple of 4", std::nullopt},
    Parameter{"height", "of images from the cell before", std::nullopt},
    Parameter{"width", "of images from the cell before", std::nullopt},
    flag("after_reduction",
         "1: the cell before was a reduction; what came before it is twice as "
         "high and wide",
         0)};

/// The work of a cell. What goes on is its result and what came from the cell before.
LayerWork cell_work(const CellTable& table, const LayerNumbers& numbers, const CellShape& shape);

}  // namespace penstock
