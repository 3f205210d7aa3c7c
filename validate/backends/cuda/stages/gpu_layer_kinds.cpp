#include "validate/backends/cuda/stages/gpu_layer_kinds.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "validate/backends/cuda/stages/gpu_products.hpp"

namespace penstock {
namespace {

/// The spread of weights that keeps sums of this many inputs at about their size.
double spread_of_inputs(std::uint64_t inputs) {
  return std::sqrt(3.0 / static_cast<double>(inputs));  // gives the sum a variance of 1
}

template <bool gated, unsigned head>
struct Transformer {
  using Layer = TransformerLayer<Bf16, head>;
  using Shape = TransformerForm<head>;
  using Weights = TransformerWeights<Bf16>;
  using Sums = TransformerWeights<float>;
  using Kept = TransformerKept<Bf16>;
  using Scratch = TransformerScratch<Bf16>;

  static Shape shape(const GpuLayerSizes& sizes) {
    return Shape({sizes.examples, sizes.tokens, sizes.heads,
                  gated ? sizes.gated_inner : sizes.inner, gated});
  }
  static std::uint64_t numbers_in(const Shape& shape) { return shape.numbers(); }

  static void draw(const Shape& shape, const Weights& weights) {
    constexpr double near = 0.1;  // of gains around 1, and of shifts
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

  static std::map<std::string, std::uint64_t> numbers(const GpuLayerSizes& sizes) {
    const Shape form = shape(sizes);
    return {{"examples", form.examples},
            {"heads", form.heads},
            {"hidden", form.hidden()},
            {"inner", form.inner},
            {"tokens", form.tokens}};
  }
};

struct Convolution {
  using Layer = ConvolutionLayer<Bf16>;
  using Weights = ConvolutionWeights<Bf16>;
  using Sums = ConvolutionWeights<float>;
  using Scratch = ConvolutionScratch<Bf16>;

  static ImageSizes shape(const GpuLayerSizes& sizes) {
    return {.examples = sizes.images,
            .channels_in = sizes.channels,
            .channels_out = sizes.channels,
            .height = sizes.side,
            .width = sizes.side,
            .kernel = sizes.window,
            .stride = 1,
            .relu = true};
  }
  static std::uint64_t numbers_in(const ImageSizes& images) { return images.numbers_in(); }

  static void draw(const ImageSizes& images, const Weights& weights) {
    draw_numbers(weights.kernel, images.weights(), 1,
                 spread_of_inputs(images.window() / 2));  // the ReLU leaves half
  }

  static std::map<std::string, std::uint64_t> numbers(const GpuLayerSizes& sizes) {
    return {{"channels", sizes.channels},
            {"examples", sizes.images},
            {"kernel", sizes.window},
            {"side", sizes.side}};
  }
};

struct ConditionalConvolution {
  using Layer = ConditionalLayer<Bf16>;
  using Weights = ConditionalWeights<Bf16>;
  using Sums = ConditionalWeights<float>;
  using Kept = ConditionalKept<Bf16>;
  using Scratch = ConditionalScratch<Bf16>;

  static ConditionalSizes shape(const GpuLayerSizes& sizes) {
    return {Convolution::shape(sizes), sizes.kernels};
  }
  static std::uint64_t numbers_in(const ConditionalSizes& images) { return images.numbers_in(); }

  static void draw(const ConditionalSizes& images, const Weights& weights) {
    draw_numbers(weights.kernels, images.kernels * images.weights(), 1,
                 spread_of_inputs(images.window() / 2));  // the ReLU leaves half
    const std::uint64_t routing = std::uint64_t{images.kernels} * images.channels_in;
    draw_numbers(weights.routing, routing, 2, 1);
    draw_numbers(weights.routing + routing, images.kernels, 3, 0.5);
  }

  static std::map<std::string, std::uint64_t> numbers(const GpuLayerSizes& sizes) {
    auto all = Convolution::numbers(sizes);
    all["kernels"] = sizes.kernels;
    return all;
  }
};

template <class Kind>
constexpr bool keeps = requires {
  typename Kind::Kept;
};

template <class Kind>
GpuLayerBytes bytes(const GpuLayerSizes& sizes) {
  const auto shape = Kind::shape(sizes);
  Carver ends;
  ends.take<Bf16>(Kind::numbers_in(shape));
  GpuLayerBytes all{.weights = carved_bytes<typename Kind::Weights>(shape),
                    .sums = carved_bytes<typename Kind::Sums>(shape),
                    .scratch = carved_bytes<typename Kind::Scratch>(shape),
                    .ends = ends.bytes()};
  if constexpr (keeps<Kind>) all.kept = carved_bytes<typename Kind::Kept>(shape);
  return all;
}

template <class Kind>
void draw(const GpuLayerSizes& sizes, std::byte* memory) {
  const auto shape = Kind::shape(sizes);
  Kind::draw(shape, carved<typename Kind::Weights>(shape, memory));
}

template <class Layer>
void add_pass(const Layer& layer, GpuPass pass, GpuLaunches& launches) {
  if (pass == GpuPass::forward) layer.forward(launches);
  if (pass == GpuPass::input_gradient) layer.input_gradient(launches);
  if (pass == GpuPass::weight_gradient) layer.weight_gradient(launches);
}

template <class Kind>
void launch(const GpuLayerSizes& sizes, const GpuLayerMemory& memory, GpuPass pass,
            GpuLaunches& launches) {
  const auto shape = Kind::shape(sizes);
  const auto weights = carved<typename Kind::Weights>(shape, memory.weights);
  const auto sums = carved<typename Kind::Sums>(shape, memory.sums);
  const auto scratch = carved<typename Kind::Scratch>(shape, memory.scratch);
  using Layer = typename Kind::Layer;
  if constexpr (keeps<Kind>) {
    const auto kept = carved<typename Kind::Kept>(shape, memory.kept);
    add_pass(Layer{shape, weights, sums, kept, scratch, memory.ends}, pass, launches);
  } else {
    add_pass(Layer{shape, weights, sums, scratch, memory.ends}, pass, launches);
  }
}

template <class Kind>
constexpr GpuLayerKind kind(GpuWork work) {
  return {work, bytes<Kind>, draw<Kind>, launch<Kind>, Kind::numbers};
}

bool is_large(const GpuLayerSizes& sizes) { return sizes.head == 128; }

/// With heads of 64 numbers or of 128, as the sizes have it.
template <bool gated>
constexpr GpuLayerKind transformer(GpuWork work) {
  using Small = Transformer<gated, 64>;
  using Large = Transformer<gated, 128>;
  return {work,
          [](const GpuLayerSizes& sizes) {
            return is_large(sizes) ? bytes<Large>(sizes) : bytes<Small>(sizes);
          },
          [](const GpuLayerSizes& sizes, std::byte* memory) {
            return is_large(sizes) ? draw<Large>(sizes, memory) : draw<Small>(sizes, memory);
          },
          [](const GpuLayerSizes& sizes, const GpuLayerMemory& memory, GpuPass pass,
             GpuLaunches& launches) {
            return is_large(sizes) ? launch<Large>(sizes, memory, pass, launches)
                                   : launch<Small>(sizes, memory, pass, launches);
          },
          [](const GpuLayerSizes& sizes) {
            return is_large(sizes) ? Large::numbers(sizes) : Small::numbers(sizes);
          }};
}

constexpr std::array kinds{
    transformer<false>(GpuWork::transformer),
    transformer<true>(GpuWork::gated_transformer),
    kind<Convolution>(GpuWork::convolution),
    kind<ConditionalConvolution>(GpuWork::conditional_convolution),
};

}  // namespace

std::span<const GpuLayerKind> layer_kinds() { return kinds; }

const GpuLayerKind* layer_kind_of(GpuWork work) {
  const auto* const found = std::find_if(kinds.begin(), kinds.end(),
                                         [&](const GpuLayerKind& one) { return one.work == work; });
  return found == kinds.end() ? nullptr : found;
}

std::string shape_text(const std::map<std::string, std::uint64_t>& numbers) {
  std::string text;
  for (const auto& [name, number] : numbers) {
    text += (text.empty() ? "" : " ") + name + "=" + std::to_string(number);
  }
  return text;
}

}  // namespace penstock
