#include <array>

#include "hardware_models/layers/building/building.hpp"
#include "hardware_models/layers/building/convolution.hpp"
#include "hardware_models/layers/registry.hpp"
#include "hardware_models/spec/model_spec.hpp"

namespace penstock {
namespace {

constexpr std::array parameters{Parameter{"channels", "of each image that comes in", std::nullopt},
                                Parameter{"classes", "to tell apart", std::nullopt},
                                Parameter{"height", "of each image that comes in", std::nullopt},
                                Parameter{"width", "of each image that comes in", std::nullopt}};

/// A tensor group shares the classes, and sums the gradient of the means.
LayerWork work(const LayerNumbers& numbers, const CellShape& shape) {
  const double images = images_of(shape);
  const double channels = numbers["channels"];
  const double classes = numbers.share("classes", shape.tensor);
  const double means = images * channels * shape.activation_size;
  LayerWork work;
  work.parameters = work.active_parameters = (channels + 1) * numbers["classes"];
  work.held_parameters = (channels + 1) * classes;
  work.input_bytes = means * numbers["height"] * numbers["width"];
  work.kept_bytes = work.input_bytes + means + images * classes * shape.activation_size;
  work.kept_selective_bytes = work.kept_bytes;
  work.pending_weight_bytes = images * classes * shape.activation_size;
  count_dense_flops(work, channels * numbers["classes"], images);
  work.kernels = {vector_kernel(Pass::forward, work.input_bytes + means),
                  vector_kernel(Pass::backward_input, work.input_bytes + means)};
  add_dense(work, {images, channels, classes}, shape.activation_size);
  if (shape.tensor > 1) {
    work.collectives.push_back({.pass = Pass::backward_input,
                                .kind = CollectiveKind::all_reduce,
                                .group = Group::tensor,
                                .bytes = means});
  }
  return work;
}

}  // namespace

constinit extern const LayerKindEntry classifier_entry{
    "classifier", "the mean of each channel, a dense layer and its loss", parameters, work};

}  // namespace penstock
