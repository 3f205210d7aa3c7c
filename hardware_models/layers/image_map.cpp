#include <array>

#include "hardware_models/layers/building/building.hpp"
#include "hardware_models/layers/building/convolution.hpp"
#include "hardware_models/layers/registry.hpp"
#include "hardware_models/spec/model_spec.hpp"

namespace penstock {
namespace {

constexpr std::array parameters{
    Parameter{"channels_in", "of each image that comes in", std::nullopt},
    Parameter{"channels_out", "of each image that goes on; otherwise as many", absent},
    Parameter{"height", "of each image that comes in", std::nullopt},
    Parameter{"width", "of each image that comes in", std::nullopt},
    Parameter{"scale", "sides of what goes on over those that come in: 0.5 for a pool of stride 2",
              1, 1e-6, 1e6, false},
    Parameter{"images", "that come in together: 2 for a sum with what went around", 1, 1},
    Parameter{"passing", "numbers of each example that go by, to a layer further on", 0, 0},
    flag("keeps_input", "0: the backward reads gradients alone, as that of a sum does", 1)};

/// What comes in is read and what goes on is written; the backward does the same with gradients.
/// All devices of a tensor group do it alike.
LayerWork work(const LayerNumbers& numbers, const CellShape& shape) {
  const double side = numbers["scale"];
  const double places = images_of(shape) * numbers["height"] * numbers["width"];
  const double channels_out = numbers.given("channels_out").value_or(numbers["channels_in"]);
  LayerWork work;
  work.input_bytes = places * numbers["channels_in"] * shape.activation_size;
  work.output_bytes = places * side * side * channels_out * shape.activation_size;
  const double kept = numbers.is("keeps_input") ? work.input_bytes : 0;
  work.kept_bytes = work.kept_selective_bytes = kept;
  work.weight_bytes = 0;
  const double moved = numbers["images"] * work.input_bytes + work.output_bytes;
  work.output_bytes += images_of(shape) * numbers["passing"] * shape.activation_size;
  work.kernels = {vector_kernel(Pass::forward, moved),
                  vector_kernel(Pass::backward_input, moved + kept)};
  return work;
}

}  // namespace

constinit extern const LayerKindEntry image_map_entry{
    "image_map", "a pool, sum, join or resizing of images: bound by memory", parameters, work};

}  // namespace penstock
