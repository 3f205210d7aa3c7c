#include "validate/kernels/steps/layer_run.hpp"

#include <cmath>

namespace penstock {

std::size_t size_of(const LayerNumbers& numbers, std::string_view name) {
  return static_cast<std::size_t>(numbers[name]);
}

double spread_of_sum(std::size_t inputs) {
  return std::sqrt(3.0 / static_cast<double>(inputs));  // gives the sum a variance of 1
}

}  // namespace penstock
