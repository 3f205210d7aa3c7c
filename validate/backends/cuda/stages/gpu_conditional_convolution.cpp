#include "validate/backends/cuda/stages/gpu_layer_kinds.hpp"

namespace penstock {
namespace {

using Weights = ConditionalWeights<Bf16>;
using Sums = ConditionalWeights<float>;
using Kept = ConditionalKept<Bf16>;
using Scratch = ConditionalScratch<Bf16>;

ConditionalSizes conditional_sizes(const GpuLayerSizes& sizes) {
  return {{sizes.images, sizes.channels, sizes.channels, sizes.side, sizes.side, sizes.window,
           /*stride=*/1, /*relu=*/true},
          sizes.kernels};
}

GpuLayerBytes bytes(const GpuLayerSizes& sizes) {
  const ConditionalSizes images = conditional_sizes(sizes);
  Carver ends;
  ends.take<Bf16>(images.numbers_in());
  return {.weights = carved_bytes<Weights>(images),
          .sums = carved_bytes<Sums>(images),
          .kept = carved_bytes<Kept>(images),
          .scratch = carved_bytes<Scratch>(images),
          .ends = ends.bytes()};
}

void draw(const GpuLayerSizes& sizes, std::byte* memory) {
  const ConditionalSizes images = conditional_sizes(sizes);
  const auto weights = carved<Weights>(images, memory);
  draw_numbers(weights.kernels, images.kernels * images.weights(), 1,
               spread_of_inputs(images.window() / 2));  // the ReLU leaves half
  const std::uint64_t routing = std::uint64_t{images.kernels} * images.channels_in;
  draw_numbers(weights.routing, routing, 2, 1);
  draw_numbers(weights.routing + routing, images.kernels, 3, 0.5);
}

void launch(const GpuLayerSizes& sizes, const GpuLayerMemory& memory, GpuPass pass,
            GpuLaunches& launches) {
  const ConditionalSizes images = conditional_sizes(sizes);
  add_pass(
      ConditionalLayer<Bf16>{images, carved<Weights>(images, memory.weights),
                             carved<Sums>(images, memory.sums), carved<Kept>(images, memory.kept),
                             carved<Scratch>(images, memory.scratch), memory.ends},
      pass, launches);
}

std::map<std::string, std::uint64_t> numbers(const GpuLayerSizes& sizes) {
  return {{"channels", sizes.channels},
          {"examples", sizes.images},
          {"kernel", sizes.window},
          {"kernels", sizes.kernels},
          {"side", sizes.side}};
}

}  // namespace

const GpuLayerKind conditional_convolution_kind{GpuWork::conditional_convolution, bytes, draw,
                                                launch, numbers};

}  // namespace penstock
