#include "hardware_models/layers/building/amoebanet.hpp"

#include <fmt/format.h>

#include <cmath>
#include <vector>

#include "hardware_models/layers/building/convolution.hpp"
#include "sim/base/error.hpp"

namespace penstock {
namespace {

constexpr double index_bytes = 8;  // index of a maximum: from memory of PyTorch, not verified

/// The images of a state, and whether a layer already keeps them.
struct State {
  double height = 0;
  double width = 0;
  bool kept = false;
};

/// Builds the work of one cell.
class Cell {
 public:
  Cell(const LayerNumbers& numbers, const CellShape& shape)
      : shape_(shape), images_(images_of(shape)), channels_(numbers["channels"]) {
    if (std::fmod(channels_, 4 * shape.tensor) == 0) return;
    throw InputError("/channels", fmt::format("{} is not a multiple of {}: each of {} devices "
                                              "needs a whole quarter of the channels",
                                              channels_, 4 * shape.tensor, shape.tensor));
  }

  /// A state of `channels` from images with a different number of channels.
  void enter(double channels_in, double height, double width, double stride) {
    Convolution convolution = square(height, width, 1, stride);
    convolution.channels_in = channels_in;
    work_.input_bytes += convolution.numbers_in() * shape_.activation_size;
    add(convolution);
    states_.push_back({strided(height, stride), strided(width, stride)});
  }

  /// A state from images that already fit.
  void enter_as_is(double height, double width) {
    work_.input_bytes += bytes_of({height, width});
    states_.push_back({height, width});
  }

  void sum(const CellStep& a, const CellStep& b, const CellTable& table) {
    const State state = apply(a, table);
    apply(b, table);
    vector(3 * bytes_of(state));
    states_.push_back(state);
  }

  LayerWork finish(const CellTable& table, double passed_on_bytes) {
    const double joined = static_cast<double>(table.joined.size()) * bytes_of(states_.back());
    vector(2 * joined);
    work_.output_bytes = joined + passed_on_bytes;
    work_.active_parameters = work_.parameters;
    return std::move(work_);
  }

 private:
  double bytes_of(const State& state) const {
    return images_ * channels_ * state.height * state.width * shape_.activation_size;
  }

  Convolution square(double height, double width, double kernel, double stride) const {
    return {.examples = images_,
            .channels_in = channels_,
            .channels_out = channels_,
            .height = height,
            .width = width,
            .kernel_height = kernel,
            .kernel_width = kernel,
            .stride = stride,
            .relu = true,
            .batch_norm = true};
  }

  void add(const Convolution& convolution) { add_convolution(work_, convolution, shape_); }

  void vector(double bytes) { add_vector(work_, bytes, bytes); }

  /// A convolution between two 1x1 convolutions: to a quarter of the channels and back.
  void narrow(const State& from, const State& to, std::span<const Convolution> inner) {
    Convolution down = square(from.height, from.width, 1, 1);
    down.channels_out = channels_ / 4;
    add(down);
    for (Convolution convolution : inner) {
      convolution.channels_in = convolution.channels_out = channels_ / 4;
      add(convolution);
    }
    Convolution up = square(to.height, to.width, 1, 1);
    up.channels_in = channels_ / 4;
    add(up);
  }

  /// Pools keep their input, once for all readers, and the indices of maxima.
  void pool(State& from, const State& to, bool maximum) {
    vector(bytes_of(from) + bytes_of(to));
    if (!from.kept) work_.kept_bytes += bytes_of(from);
    from.kept = true;
    if (!maximum) return;
    const double indices = bytes_of(to) / shape_.activation_size * index_bytes;
    work_.kept_bytes += indices;
    work_.uncoded_bytes += indices;
  }

  State apply(const CellStep& step, const CellTable& table) {
    State& from = states_[step.state];
    const double stride = step.state < 2 ? table.stride : 1;
    const State to{strided(from.height, stride), strided(from.width, stride)};
    switch (step.operation) {
      case CellOperation::none:
        if (stride > 1) add(square(from.height, from.width, 1, stride));
        break;
      case CellOperation::conv_1x1:
        add(square(from.height, from.width, 1, stride));
        break;
      case CellOperation::conv_3x3: {
        const std::array inner{square(from.height, from.width, 3, stride)};
        narrow(from, to, inner);
        break;
      }
      case CellOperation::conv_1x7_7x1:
        factorized(from, to, stride);
        break;
      case CellOperation::max_pool_2x2:
      case CellOperation::max_pool_3x3:
        pool(from, to, true);
        break;
      case CellOperation::avg_pool_3x3:
        pool(from, to, false);
        break;
    }
    return to;
  }

  /// A row convolution, then a column convolution; the second takes the stride of both.
  void factorized(const State& from, const State& to, double stride) {
    Convolution row = square(from.height, from.width, 1, 1);
    row.kernel_width = 7;
    Convolution column = square(from.height, from.width, 1, stride);
    column.kernel_height = 7;
    const std::array inner{row, column};
    narrow(from, to, inner);
  }

  const CellShape& shape_;
  double images_ = 0;
  double channels_ = 0;
  std::vector<State> states_;
  LayerWork work_;
};

}  // namespace

LayerWork cell_work(const CellTable& table, const LayerNumbers& numbers, const CellShape& shape) {
  const double height = numbers["height"];
  const double width = numbers["width"];
  const double before = numbers["channels_before"];
  Cell cell(numbers, shape);
  cell.enter(numbers["channels_in"], height, width, 1);
  if (numbers.is("after_reduction")) {
    cell.enter(before, 2 * height, 2 * width, 2);
  } else if (before != numbers["channels"]) {
    cell.enter(before, height, width, 1);
  } else {
    cell.enter_as_is(height, width);
  }
  for (std::size_t i = 0; i < table.steps.size(); i += 2) {
    cell.sum(table.steps[i], table.steps[i + 1], table);
  }
  const double passed_on = images_of(shape) * numbers["channels_in"] * height * width;
  return cell.finish(table, passed_on * shape.activation_size);
}

}  // namespace penstock
