#include "validate/backends/cuda/stages/gpu_layer_kinds.hpp"

namespace penstock {
namespace {

using Shape = TransformerForm<gpu_head>;
using Weights = TransformerWeights<Bf16>;
using Sums = TransformerWeights<float>;
using Kept = TransformerKept<Bf16>;
using Scratch = TransformerScratch<Bf16>;

template <bool gated>
Shape shape_of(const GpuLayerSizes& sizes) {
  return Shape(
      {sizes.examples, sizes.tokens, sizes.heads, gated ? sizes.gated_inner : sizes.inner, gated});
}

template <bool gated>
GpuLayerBytes bytes(const GpuLayerSizes& sizes) {
  const Shape shape = shape_of<gated>(sizes);
  Carver ends;
  ends.take<Bf16>(shape.numbers());
  return {.weights = carved_bytes<Weights>(shape),
          .sums = carved_bytes<Sums>(shape),
          .kept = carved_bytes<Kept>(shape),
          .scratch = carved_bytes<Scratch>(shape),
          .ends = ends.bytes()};
}

template <bool gated>
void draw(const GpuLayerSizes& sizes, std::byte* memory) {
  constexpr double near = 0.1;  // of gains around 1, and of shifts
  const Shape shape = shape_of<gated>(sizes);
  const auto weights = carved<Weights>(shape, memory);
  const std::uint64_t hidden = shape.hidden();
  const double of_hidden = spread_of_inputs(hidden);
  std::uint64_t seed = 1;
  for (Bf16* const norm : {weights.first_norm, weights.second_norm}) {
    draw_numbers(norm, hidden, ++seed, near, 1);
    draw_numbers(norm + hidden, hidden, ++seed, near);
  }
  draw_numbers(weights.project, 3 * hidden * hidden, ++seed, of_hidden);
  draw_numbers(weights.bring_together, hidden * hidden, ++seed, of_hidden);
  draw_numbers(weights.into, shape.wide() * hidden, ++seed, of_hidden);
  draw_numbers(weights.out_of, hidden * shape.inner, ++seed, spread_of_inputs(shape.inner));
}

template <bool gated>
void launch(const GpuLayerSizes& sizes, const GpuLayerMemory& memory, GpuPass pass,
            GpuLaunches& launches) {
  const Shape shape = shape_of<gated>(sizes);
  add_pass(TransformerLayer<Bf16, gpu_head>{shape, carved<Weights>(shape, memory.weights),
                                            carved<Sums>(shape, memory.sums),
                                            carved<Kept>(shape, memory.kept),
                                            carved<Scratch>(shape, memory.scratch), memory.ends},
           pass, launches);
}

template <bool gated>
std::map<std::string, std::uint64_t> numbers(const GpuLayerSizes& sizes) {
  const Shape shape = shape_of<gated>(sizes);
  return {{"examples", shape.examples},
          {"heads", shape.heads},
          {"hidden", shape.hidden()},
          {"inner", shape.inner},
          {"tokens", shape.tokens}};
}

}  // namespace

const GpuLayerKind transformer_kind{GpuWork::transformer, bytes<false>, draw<false>, launch<false>,
                                    numbers<false>};
const GpuLayerKind gated_transformer_kind{GpuWork::gated_transformer, bytes<true>, draw<true>,
                                          launch<true>, numbers<true>};

}  // namespace penstock
