#include "validate/backends/cuda/stages/gpu_layer_kinds.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "validate/backends/cuda/stages/gpu_products.hpp"

namespace penstock {
namespace {

constexpr std::uint64_t draws = 65'521;  // then the same again: prime, so neighbours differ

}  // namespace

std::span<const GpuLayerKind> layer_kinds() {
  static const std::array kinds{transformer_kind, gated_transformer_kind, convolution_kind,
                                conditional_convolution_kind};
  return kinds;
}

const GpuLayerKind* layer_kind_of(GpuWork work) {
  const auto kinds = layer_kinds();
  const auto found = std::find_if(kinds.begin(), kinds.end(),
                                  [&](const GpuLayerKind& kind) { return kind.work == work; });
  return found == kinds.end() ? nullptr : &*found;
}

std::string shape_text(const std::map<std::string, std::uint64_t>& numbers) {
  std::string text;
  for (const auto& [name, number] : numbers) {
    text += (text.empty() ? "" : " ") + name + "=" + std::to_string(number);
  }
  return text;
}

void draw_numbers(Bf16* to, std::uint64_t count, std::uint64_t seed, double spread, double centre) {
  const std::vector<std::uint16_t> drawn = drawn_bf16(std::min<std::uint64_t>(count, draws), seed);
  for (std::uint64_t i = 0; i < count; ++i) {
    if (i >= draws) {
      to[i] = to[i - draws];
      continue;
    }
    const double value = static_cast<double>(value_of(Bf16{drawn[i]}));
    to[i] = bf16_of(static_cast<float>(centre + spread * value));
  }
}

double spread_of_inputs(std::uint64_t inputs) {
  return std::sqrt(3.0 / static_cast<double>(inputs));  // gives the sum a variance of 1
}

}  // namespace penstock
