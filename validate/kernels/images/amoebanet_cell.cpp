#include "validate/kernels/images/amoebanet_cell.hpp"

#include <utility>

#include "validate/kernels/steps/matrix.hpp"

namespace penstock {
namespace {

constexpr std::size_t inputs = 2;
// A kernel, a gain and a shift.
constexpr std::size_t weights_of_block = 3;

std::size_t strided_side(std::size_t side, std::size_t stride) {
  return (side + stride - 1) / stride;
}

std::span<const Tensor> weights_of(const LayerRun& run, std::size_t convolution) {
  return std::span(run.weights).subspan(weights_of_block * convolution, weights_of_block);
}

}  // namespace

AmoebanetCell::AmoebanetCell(const CellTable& table, const LayerNumbers& numbers)
    : channels_(size_of(numbers, "channels")) {
  const std::size_t height = size_of(numbers, "height");
  const std::size_t width = size_of(numbers, "width");
  const std::size_t larger = numbers.is("after_reduction") ? 2 : 1;
  images_ = {{size_of(numbers, "channels_in"), height, width},
             {size_of(numbers, "channels_before"), larger * height, larger * width}};
  enter(0, 1);
  enter(1, larger);
  for (std::size_t i = 0; i < table.steps.size(); i += 2) {
    const auto stride = static_cast<std::size_t>(table.stride);
    const std::size_t to = images_.size();
    const auto stride_of = [&](const CellStep& step) { return step.state < 2 ? stride : 1; };
    const Image& from = images_[inputs + table.steps[i].state];
    images_.push_back({channels_, strided_side(from.height, stride_of(table.steps[i])),
                       strided_side(from.width, stride_of(table.steps[i]))});
    for (const std::size_t each : {i, i + 1}) {
      add_step(table.steps[each], to, stride_of(table.steps[each]));
    }
  }
  for (const std::size_t state : table.joined) joined_.push_back(inputs + state);
}

/// Makes a state of an input: with the cell's channels, and as large as the newer input. An older
/// input that fits stays as it is.
void AmoebanetCell::enter(std::size_t input, std::size_t stride) {
  const Image& from = images_[input];
  CellEdge edge{.from = input, .to = images_.size()};
  if (input == 0 || stride > 1 || from.channels != channels_) {
    ConvolutionSizes sizes = convolution(from, channels_);
    sizes.stride = stride;
    edge.convolutions = {ConvolutionBlock(sizes)};
  }
  images_.push_back(
      {channels_, strided_side(from.height, stride), strided_side(from.width, stride)});
  add(std::move(edge));
}

void AmoebanetCell::add_step(const CellStep& step, std::size_t to, std::size_t stride) {
  CellEdge edge{.from = inputs + step.state, .to = to};
  switch (step.operation) {
    case CellOperation::max_pool_2x2:
      return add_pool(std::move(edge), 2, stride, /*largest=*/true);
    case CellOperation::max_pool_3x3:
      return add_pool(std::move(edge), 3, stride, /*largest=*/true);
    case CellOperation::avg_pool_3x3:
      return add_pool(std::move(edge), 3, stride, /*largest=*/false);
    default:
      edge.convolutions = convolutions_of(step.operation, images_[edge.from], stride);
      return add(std::move(edge));
  }
}

void AmoebanetCell::add(CellEdge edge) {
  edge.first = convolutions_;
  convolutions_ += edge.convolutions.size();
  edges_.push_back(std::move(edge));
}

void AmoebanetCell::add_pool(CellEdge edge, std::size_t window, std::size_t stride, bool largest) {
  const Image& from = images_[edge.from];
  edge.pooling = Pooling{.channels = from.channels,
                         .height = from.height,
                         .width = from.width,
                         .window = window,
                         .stride = stride,
                         .before = (window - 1) / 2,
                         .largest = largest};
  edge.first = pools_;
  if (largest) ++pools_;
  edges_.push_back(std::move(edge));
}

/// Of 1 x 1.
ConvolutionSizes AmoebanetCell::convolution(const Image& from, std::size_t to_channels) const {
  return {.channels_in = from.channels,
          .channels_out = to_channels,
          .height = from.height,
          .width = from.width};
}

/// Convolutions of a quarter of the channels between two of 1 x 1, there and back.
std::vector<ConvolutionBlock> AmoebanetCell::narrow(
    const Image& from, std::size_t stride, const std::vector<ConvolutionSizes>& inner) const {
  const Image to{channels_ / 4, strided_side(from.height, stride),
                 strided_side(from.width, stride)};
  std::vector<ConvolutionBlock> all{ConvolutionBlock(convolution(from, channels_ / 4))};
  for (const ConvolutionSizes& sizes : inner) all.emplace_back(sizes);
  all.emplace_back(convolution(to, channels_));
  return all;
}

std::vector<ConvolutionBlock> AmoebanetCell::convolutions_of(CellOperation operation,
                                                             const Image& from,
                                                             std::size_t stride) const {
  ConvolutionSizes whole = convolution(from, channels_);
  whole.stride = stride;
  if (operation == CellOperation::none && stride == 1) return {};
  if (operation == CellOperation::none || operation == CellOperation::conv_1x1) {
    return {ConvolutionBlock(whole)};
  }
  ConvolutionSizes inner = convolution({channels_ / 4, from.height, from.width}, channels_ / 4);
  ConvolutionSizes last = inner;
  last.stride = stride;
  if (operation == CellOperation::conv_3x3) {
    last.kernel_height = last.kernel_width = 3;
    return narrow(from, stride, {last});
  }
  inner.kernel_width = last.kernel_height = 7;
  return narrow(from, stride, {inner, last});
}

std::size_t AmoebanetCell::rows_out() const {
  return joined_.size() * rows(joined_.front()) + rows_passed();
}

std::vector<WeightSpec> AmoebanetCell::weights() const {
  std::vector<WeightSpec> specs;
  for (const CellEdge& edge : edges_) {
    for (const ConvolutionBlock& block : edge.convolutions) {
      const std::vector<WeightSpec> own = block.weights();
      specs.insert(specs.end(), own.begin(), own.end());
    }
  }
  return specs;
}

std::size_t AmoebanetCell::kept_by(std::size_t convolution) const {
  return most_pools + ConvolutionBlock::kept_tensors * convolution;
}

Tensor AmoebanetCell::along(const CellEdge& edge, const LayerRun& run, const Tensor& from,
                            Tensors& kept) const {
  if (edge.pooling) {
    Tensor none;
    return pooled(*edge.pooling, from, edge.pooling->largest ? kept[edge.first] : none);
  }
  Tensor image = from;
  std::size_t number = edge.first;
  for (const ConvolutionBlock& block : edge.convolutions) {
    const auto own = std::span(kept).subspan(kept_by(number), ConvolutionBlock::kept_tensors);
    image = block.forward(weights_of(run, number++), std::move(image), own);
  }
  return image;
}

Tensor AmoebanetCell::back(const CellEdge& edge, const LayerRun& run, Tensor gradient,
                           Tensors& kept) const {
  if (edge.pooling) {
    if (!edge.pooling->largest) return pooled_gradient(*edge.pooling, gradient, {});
    return pooled_gradient(*edge.pooling, gradient, std::exchange(kept[edge.first], {}));
  }
  for (std::size_t i = edge.convolutions.size(); i-- > 0;) {
    const std::size_t number = edge.first + i;
    const auto own = std::span(kept).subspan(kept_by(number), ConvolutionBlock::kept_tensors);
    gradient =
        edge.convolutions[i].input_gradient(weights_of(run, number), std::move(gradient), own);
  }
  return gradient;
}

Tensor AmoebanetCell::forward(const LayerRun& run, const Tensor& in, Tensors& kept) const {
  kept.assign(kept_by(convolutions_), {});
  Tensors images(images_.size());
  images[0] = rows_of(in, 0, rows(0));
  images[1] = rows_of(in, rows(0), rows(1));
  for (const CellEdge& edge : edges_) {
    Tensor made = along(edge, run, images[edge.from], kept);
    if (images[edge.to].empty()) {
      images[edge.to] = std::move(made);
    } else {
      add_values(made, images[edge.to]);
    }
  }
  std::vector<const Tensor*> parts;
  for (const std::size_t state : joined_) parts.push_back(&images[state]);
  parts.push_back(&images[0]);
  return stacked(parts);
}

Tensor AmoebanetCell::input_gradient(const LayerRun& run, const Tensor& gradient,
                                     Tensors& kept) const {
  Tensors gradients;
  for (std::size_t image = 0; image < images_.size(); ++image) {
    gradients.emplace_back(rows(image), gradient.columns);
  }
  std::size_t row = 0;
  for (const std::size_t state : joined_) {
    add_values(rows_of(gradient, row, rows(state)), gradients[state]);
    row += rows(state);
  }
  add_values(rows_of(gradient, row, rows(0)), gradients[0]);
  for (std::size_t i = edges_.size(); i-- > 0;) {
    const CellEdge& edge = edges_[i];
    add_values(back(edge, run, gradients[edge.to], kept), gradients[edge.from]);
  }
  return stacked(gradients[0], gradients[1]);
}

void AmoebanetCell::weight_gradient(const Tensors& kept, Tensors& sums) const {
  for (const CellEdge& edge : edges_) {
    std::size_t number = edge.first;
    for (const ConvolutionBlock& block : edge.convolutions) {
      block.weight_gradient(std::span(kept).subspan(kept_by(number)),
                            std::span(sums).subspan(weights_of_block * number));
      ++number;
    }
  }
}

}  // namespace penstock
