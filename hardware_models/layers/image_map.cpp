#include <array>

#include "hardware_models/layers/building/building.hpp"
#include "hardware_models/layers/building/convolution.hpp"
#include "hardware_models/layers/registry.hpp"
#include "hardware_models/spec/model_spec.hpp"

namespace penstock::image_map_file {
namespace {

constexpr std::array parameters{
    Parameter{"channels_in", "input channels", std::nullopt},
    Parameter{"channels_out", "output channels; default channels_in", absent},
    Parameter{"height", "input height", std::nullopt},
    Parameter{"width", "input width", std::nullopt},
    Parameter{"scale", "output side / input side: 0.5 for a pool of stride 2", 1, 1e-6, 1e6, false},
    Parameter{"images", "input images: 2 for a residual sum", 1, 1},
    Parameter{"passing", "values per example passed through to a later layer", 0, 0},
    flag("keeps_input", "0: the backward reads only gradients, as for a sum", 1)};

/// Reads its input and writes its output; the backward does the same with gradients. All devices of
/// a tensor group repeat it.
LayerWork work(const LayerNumbers& numbers, const CellShape& shape) {
  const double side = numbers["scale"];
  const double places = images_of(shape) * numbers["height"] * numbers["width"];
  const double channels_out = numbers.given("channels_out").value_or(numbers["channels_in"]);
  LayerWork work;
  work.input_bytes = places * numbers["channels_in"] * shape.activation_size;
  work.output_bytes = places * side * side * channels_out * shape.activation_size;
  const double kept = numbers.is("keeps_input") ? work.input_bytes : 0;
  work.kept_bytes = kept;
  work.weight_bytes = 0;
  const double moved = numbers["images"] * work.input_bytes + work.output_bytes;
  work.output_bytes += images_of(shape) * numbers["passing"] * shape.activation_size;
  add_vector(work, moved, moved + kept);
  return work;
}

}  // namespace

constinit extern const LayerKindEntry image_map_entry{
    "image_map", "pool, sum, concatenation or resizing of images, memory-bound", parameters, work};

}  // namespace penstock::image_map_file
