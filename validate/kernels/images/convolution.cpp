#include "validate/kernels/images/convolution.hpp"

#include <utility>

#include "validate/kernels/steps/layer_run.hpp"
#include "validate/kernels/steps/layer_steps.hpp"
#include "validate/kernels/steps/matrix.hpp"

namespace penstock {
namespace {

/// Calls `visit(output index, index in the kernel, input index)` for all points inside an image,
/// for the channels of a group.
template <class Visitor>
void for_each_number(const ConvolutionSizes& sizes, std::size_t group, Visitor visit) {
  const std::size_t channels = sizes.channels_in / sizes.groups;
  const std::size_t above = (sizes.kernel_height - 1) / 2;
  const std::size_t left = (sizes.kernel_width - 1) / 2;
  std::size_t number = 0;
  for (std::size_t channel = group * channels; channel < (group + 1) * channels; ++channel) {
    for (std::size_t down = 0; down < sizes.kernel_height; ++down) {
      for (std::size_t across = 0; across < sizes.kernel_width; ++across, ++number) {
        for (std::size_t y = 0; y < sizes.height_out(); ++y) {
          const std::size_t line = y * sizes.stride + down - above;  // wraps above the image
          if (line >= sizes.height) continue;
          for (std::size_t x = 0; x < sizes.width_out(); ++x) {
            const std::size_t place = x * sizes.stride + across - left;
            if (place >= sizes.width) continue;
            visit(y * sizes.width_out() + x, number,
                  (channel * sizes.height + line) * sizes.width + place);
          }
        }
      }
    }
  }
}

/// An unfolded image: one row per output point with the values under the kernel.
Eigen::MatrixXd unfolded(const ConvolutionSizes& sizes, std::size_t group, const double* image) {
  Eigen::MatrixXd rows =
      Eigen::MatrixXd::Zero(eigen_index(sizes.places_out()), eigen_index(sizes.window()));
  for_each_number(sizes, group, [&](std::size_t out, std::size_t number, std::size_t in) {
    rows(eigen_index(out), eigen_index(number)) = image[in];
  });
  return rows;
}

/// The output channels of a group: of weights, or of an image.
ConstMatrix group_of(const double* first, std::size_t rows, const ConvolutionSizes& sizes,
                     std::size_t group) {
  const std::size_t channels = sizes.channels_out / sizes.groups;
  return {first + group * channels * rows, eigen_index(rows), eigen_index(channels)};
}

Matrix group_of(double* first, std::size_t rows, const ConvolutionSizes& sizes, std::size_t group) {
  const std::size_t channels = sizes.channels_out / sizes.groups;
  return {first + group * channels * rows, eigen_index(rows), eigen_index(channels)};
}

/// All values of a channel as a column, image by image.
Tensor by_channel(const Tensor& images, std::size_t channels) {
  const std::size_t places = images.rows / channels;
  Tensor apart(places * images.columns, channels);
  for (std::size_t channel = 0; channel < channels; ++channel) {
    matrix(apart).col(eigen_index(channel)) =
        matrix(images)
            .middleRows(eigen_index(channel * places), eigen_index(places))
            .reshaped(eigen_index(apart.rows), 1);
  }
  return apart;
}

void put_back(const Tensor& apart, Tensor& images) {
  const std::size_t places = images.rows / apart.columns;
  for (std::size_t channel = 0; channel < apart.columns; ++channel) {
    matrix(images).middleRows(eigen_index(channel * places), eigen_index(places)) =
        matrix(apart)
            .col(eigen_index(channel))
            .reshaped(eigen_index(places), eigen_index(images.columns));
  }
}

enum Keeps : std::size_t { images, normed, scales, out_gradient, norm_gradients };

}  // namespace

ConvolutionSizes convolution_sizes(const LayerNumbers& numbers) {
  const std::size_t kernel = size_of(numbers, "kernel");
  return {.channels_in = size_of(numbers, "channels_in"),
          .channels_out = size_of(numbers, "channels_out"),
          .height = size_of(numbers, "height"),
          .width = size_of(numbers, "width"),
          .kernel_height = kernel,
          .kernel_width = kernel,
          .stride = size_of(numbers, "stride"),
          .groups = size_of(numbers, "groups")};
}

void convolve(const ConvolutionSizes& sizes, const double* weights, const double* image,
              double* out) {
  for (std::size_t group = 0; group < sizes.groups; ++group) {
    group_of(out, sizes.places_out(), sizes, group).noalias() =
        unfolded(sizes, group, image) * group_of(weights, sizes.window(), sizes, group);
  }
}

void convolve_image_gradient(const ConvolutionSizes& sizes, const double* weights,
                             const double* gradient, double* image_gradient) {
  for (std::size_t group = 0; group < sizes.groups; ++group) {
    const Eigen::MatrixXd rows = group_of(gradient, sizes.places_out(), sizes, group) *
                                 group_of(weights, sizes.window(), sizes, group).transpose();
    for_each_number(sizes, group, [&](std::size_t out, std::size_t number, std::size_t in) {
      image_gradient[in] += rows(eigen_index(out), eigen_index(number));
    });
  }
}

void convolve_weight_gradient(const ConvolutionSizes& sizes, const double* image,
                              const double* gradient, double* weight_gradient) {
  for (std::size_t group = 0; group < sizes.groups; ++group) {
    group_of(weight_gradient, sizes.window(), sizes, group).noalias() +=
        unfolded(sizes, group, image).transpose() *
        group_of(gradient, sizes.places_out(), sizes, group);
  }
}

void relu(Tensor& images) { matrix(images) = matrix(images).cwiseMax(0); }

void relu_gradient(const Tensor& images, Tensor& gradient) {
  for (std::size_t i = 0; i < images.values.size(); ++i) {
    if (images.values[i] <= 0) gradient.values[i] = 0;
  }
}

AfterConvolution after_convolution(const LayerNumbers& numbers) {
  return {.bias = numbers.is("bias"), .batch_norm = numbers.is("batch_norm")};
}

void AfterConvolution::add_weights(std::size_t channels, std::vector<WeightSpec>& specs) const {
  if (bias) specs.push_back({channels, 1, 0.1});
  if (batch_norm) specs.insert(specs.end(), {{channels, 1, 0.1, 1}, {channels, 1, 0.1}});
}

NormState apply_bias_and_norm(const AfterConvolution& after, std::span<const Tensor> weights,
                              Tensor& out) {
  if (after.weights() == 0) return {};
  NormState kept;
  Tensor apart = by_channel(out, weights.front().rows);
  auto all = matrix(apart);
  const auto row = [&](std::size_t weight) { return matrix(weights[weight]).transpose(); };
  const std::size_t gain = after.bias ? 1 : 0;
  if (after.bias) all.rowwise() += row(0).row(0);
  if (after.batch_norm) {
    kept.scales = norm_columns(apart, true);
    kept.normed = apart;
    all.array().rowwise() *= row(gain).row(0).array();
    all.rowwise() += row(gain + 1).row(0);
  }
  put_back(apart, out);
  return kept;
}

Tensors bias_and_norm_gradient(const AfterConvolution& after, std::span<const Tensor> weights,
                               const NormState& kept, Tensor& gradient) {
  Tensors sums;
  for (const Tensor& weight : weights.first(after.weights())) {
    sums.emplace_back(weight.rows, weight.columns);
  }
  if (sums.empty()) return sums;
  Tensor apart = by_channel(gradient, weights.front().rows);
  auto all = matrix(apart);
  const std::size_t gain = after.bias ? 1 : 0;
  if (after.batch_norm) {
    matrix(sums[gain + 1]) = all.colwise().sum().transpose();
    matrix(sums[gain]) = all.cwiseProduct(matrix(kept.normed)).colwise().sum().transpose();
    all.array().rowwise() *= matrix(weights[gain]).col(0).transpose().array();
    norm_gradient(kept.normed, kept.scales, true, apart);
  }
  if (after.bias) matrix(sums[0]) = all.colwise().sum().transpose();
  put_back(apart, gradient);
  return sums;
}

ConvolutionBlock::ConvolutionBlock(const LayerNumbers& numbers)
    : sizes(convolution_sizes(numbers)),
      relu(numbers.is("relu")),
      after(after_convolution(numbers)) {}

ConvolutionBlock::ConvolutionBlock(const ConvolutionSizes& of)
    : sizes(of), after({.bias = false, .batch_norm = true}) {}

std::vector<WeightSpec> ConvolutionBlock::weights() const {
  std::vector<WeightSpec> specs{
      {sizes.window(), sizes.channels_out, spread_of_sum(sizes.window())}};
  after.add_weights(sizes.channels_out, specs);
  return specs;
}

Tensor ConvolutionBlock::forward(std::span<const Tensor> weights, Tensor in,
                                 std::span<Tensor> kept) const {
  if (relu) penstock::relu(in);
  Tensor out(sizes.rows_out(), in.columns);
  for (std::size_t image = 0; image < in.columns; ++image) {
    convolve(sizes, weights.front().values.data(), column_of(in, image), column_of(out, image));
  }
  NormState norm_state = apply_bias_and_norm(after, weights.subspan(1), out);
  kept[images] = std::move(in);
  kept[normed] = std::move(norm_state.normed);
  kept[scales] = std::move(norm_state.scales);
  return out;
}

Tensor ConvolutionBlock::input_gradient(std::span<const Tensor> weights, Tensor gradient,
                                        std::span<Tensor> kept) const {
  const NormState norm_state{std::exchange(kept[normed], {}), std::exchange(kept[scales], {})};
  Tensors sums = bias_and_norm_gradient(after, weights.subspan(1), norm_state, gradient);
  Tensor before(sizes.rows_in(), gradient.columns);
  for (std::size_t image = 0; image < gradient.columns; ++image) {
    convolve_image_gradient(sizes, weights.front().values.data(), column_of(gradient, image),
                            column_of(before, image));
  }
  if (relu) relu_gradient(kept[images], before);
  kept[out_gradient] = std::move(gradient);
  for (std::size_t i = 0; i < sums.size(); ++i) kept[norm_gradients + i] = std::move(sums[i]);
  return before;
}

void ConvolutionBlock::weight_gradient(std::span<const Tensor> kept, std::span<Tensor> sums) const {
  for (std::size_t image = 0; image < kept[images].columns; ++image) {
    convolve_weight_gradient(sizes, column_of(kept[images], image),
                             column_of(kept[out_gradient], image), sums.front().values.data());
  }
  for (std::size_t i = 1; i < 1 + after.weights(); ++i) {
    matrix(sums[i]) += matrix(kept[norm_gradients + i - 1]);
  }
}

}  // namespace penstock
