#include "hardware_models/layers/building/convolution.hpp"
#include "hardware_models/layers/registry.hpp"
#include "hardware_models/spec/model_spec.hpp"

namespace penstock::conv_file {
namespace {

LayerWork work(const LayerNumbers& numbers, const CellShape& shape) {
  const Convolution convolution = convolution_of(numbers, shape);
  LayerWork work;
  work.input_bytes = convolution.numbers_in() * shape.activation_size;
  work.output_bytes = convolution.numbers_out() * shape.activation_size;
  add_convolution(work, convolution, shape);
  return work;
}

}  // namespace

constinit extern const LayerKindEntry conv_entry{
    "conv", "convolution of images, optional ReLU before and batch norm after",
    convolution_parameters, work};

}  // namespace penstock::conv_file
