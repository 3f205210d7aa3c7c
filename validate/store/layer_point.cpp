#include "validate/store/layer_point.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

namespace penstock {
namespace {

constexpr std::array<std::string_view, 4> passes{"forward", "backward", "backward_input",
                                                 "backward_weight"};

std::optional<double> number_of(std::string_view text) {
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(number)) {
    return std::nullopt;
  }
  return number;
}

/// Takes a number out of a shape, if it is there and above zero.
std::optional<double> taken(NamedNumbers& numbers, std::string_view name) {
  const auto found = numbers.find(name);
  if (found == numbers.end() || !(found->second > 0)) return std::nullopt;
  const double value = found->second;
  numbers.erase(found);
  return value;
}

}  // namespace

std::optional<NamedNumbers> shape_numbers(std::string_view shape) {
  NamedNumbers numbers;
  while (!shape.empty()) {
    const std::string_view word = shape.substr(0, shape.find(' '));
    const std::size_t equals = word.find('=');
    if (equals == 0 || equals == std::string_view::npos) return std::nullopt;
    const auto number = number_of(word.substr(equals + 1));
    if (!number || !numbers.emplace(word.substr(0, equals), *number).second) return std::nullopt;
    shape.remove_prefix(std::min(shape.size(), word.size() + 1));
  }
  return numbers;
}

std::string shape_text(const NamedNumbers& numbers) {
  std::string text;
  for (const auto& [name, value] : numbers) {
    text += fmt::format("{}{}={}", text.empty() ? "" : " ", name, value);
  }
  return text;
}

CellShape cell_shape(const LayerPoint& layer) {
  CellShape shape;
  shape.microbatch = layer.counts_tokens ? 1 : layer.amount;
  shape.sequence = layer.counts_tokens ? layer.amount : layer.sequence.value_or(1);
  shape.activation_size = shape.parameter_size = sizeof(double);
  return shape;
}

KernelPoint kernel_point(const LayerPoint& layer) {
  NamedNumbers all = layer.numbers;
  all[layer.counts_tokens ? "tokens" : "examples"] = layer.amount;
  if (layer.sequence) all["sequence"] = *layer.sequence;
  return {layer.kind, layer.pass, shape_text(all), layer.condition};
}

std::optional<LayerPoint> layer_point(const KernelPoint& point) {
  if (std::find(passes.begin(), passes.end(), point.pass) == passes.end()) return std::nullopt;
  auto numbers = shape_numbers(point.shape);
  if (!numbers) return std::nullopt;
  LayerPoint layer{.kind = point.kernel, .pass = point.pass, .condition = point.condition};
  const auto tokens = taken(*numbers, "tokens");
  const auto examples = taken(*numbers, "examples");
  if (tokens.has_value() == examples.has_value()) return std::nullopt;
  layer.amount = tokens ? *tokens : *examples;
  layer.counts_tokens = tokens.has_value();
  layer.sequence = taken(*numbers, "sequence");
  layer.numbers = std::move(*numbers);
  return layer;
}

}  // namespace penstock
