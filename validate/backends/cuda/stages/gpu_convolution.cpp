#include "validate/backends/cuda/stages/gpu_layer_kinds.hpp"

namespace penstock {
namespace {

using Weights = ConvolutionWeights<Bf16>;
using Sums = ConvolutionWeights<float>;
using Scratch = ConvolutionScratch<Bf16>;

ImageSizes image_sizes(const GpuLayerSizes& sizes) {
  return {.examples = sizes.images,
          .channels_in = sizes.channels,
          .channels_out = sizes.channels,
          .height = sizes.side,
          .width = sizes.side,
          .kernel = sizes.window,
          .stride = 1,
          .relu = true};
}

GpuLayerBytes bytes(const GpuLayerSizes& sizes) {
  const ImageSizes images = image_sizes(sizes);
  Carver ends;
  ends.take<Bf16>(images.numbers_in());
  return {.weights = carved_bytes<Weights>(images),
          .sums = carved_bytes<Sums>(images),
          .kept = 0,
          .scratch = carved_bytes<Scratch>(images),
          .ends = ends.bytes()};
}

void draw(const GpuLayerSizes& sizes, std::byte* memory) {
  const ImageSizes images = image_sizes(sizes);
  draw_numbers(carved<Weights>(images, memory).kernel, images.weights(), 1,
               spread_of_inputs(images.window() / 2));  // the ReLU leaves half
}

void launch(const GpuLayerSizes& sizes, const GpuLayerMemory& memory, GpuPass pass,
            GpuLaunches& launches) {
  const ImageSizes images = image_sizes(sizes);
  add_pass(ConvolutionLayer<Bf16>{images, carved<Weights>(images, memory.weights),
                                  carved<Sums>(images, memory.sums),
                                  carved<Scratch>(images, memory.scratch), memory.ends},
           pass, launches);
}

std::map<std::string, std::uint64_t> numbers(const GpuLayerSizes& sizes) {
  return {{"channels", sizes.channels},
          {"examples", sizes.images},
          {"kernel", sizes.window},
          {"side", sizes.side}};
}

}  // namespace

const GpuLayerKind convolution_kind{GpuWork::convolution, bytes, draw, launch, numbers};

}  // namespace penstock
