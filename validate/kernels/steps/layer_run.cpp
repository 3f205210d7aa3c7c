#include "validate/kernels/steps/layer_run.hpp"

#include <fmt/format.h>

#include <cmath>

namespace penstock {

std::size_t size_of(const LayerNumbers& numbers, std::string_view name) {
  return static_cast<std::size_t>(numbers[name]);
}

double spread_of_sum(std::size_t inputs) {
  return std::sqrt(3.0 / static_cast<double>(inputs));  // gives the sum a variance of 1
}

std::optional<std::string> why_not_flag(const LayerNumbers& numbers, std::string_view flag,
                                        std::string_view why) {
  if (!numbers.is(flag)) return std::nullopt;
  return fmt::format("\"{}\" {}: {}", flag, numbers[flag], why);
}

}  // namespace penstock
