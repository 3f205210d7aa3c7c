#include <array>

#include "hardware_models/layers/building/building.hpp"
#include "hardware_models/layers/building/convolution.hpp"
#include "hardware_models/layers/registry.hpp"
#include "hardware_models/spec/model_spec.hpp"

namespace penstock::classifier_file {
namespace {

constexpr std::array parameters{Parameter{"channels", "input channels", std::nullopt},
                                Parameter{"classes", "output classes", std::nullopt},
                                Parameter{"height", "input height", std::nullopt},
                                Parameter{"width", "input width", std::nullopt}};

/// A tensor group shards the classes and all-reduces the gradient of the means.
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
  work.pending_weight_bytes = images * classes * shape.activation_size;
  count_dense_flops(work, channels * numbers["classes"], images);
  add_vector(work, work.input_bytes + means, work.input_bytes + means);
  add_dense(work, {images, channels, classes}, shape.activation_size);
  if (shape.tensor > 1) {
    add_collective(work, Pass::backward_input, CollectiveKind::all_reduce, means);
  }
  return work;
}

}  // namespace

constinit extern const LayerKindEntry classifier_entry{
    "classifier", "global average pool, dense layer and loss", parameters, work};

}  // namespace penstock::classifier_file
