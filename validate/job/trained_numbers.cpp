#include "validate/job/trained_numbers.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>

namespace penstock {
namespace {

constexpr double infinite = std::numeric_limits<double>::infinity();

double error_of(std::span<const double> numbers, std::span<const double> right) {
  if (numbers.size() != right.size()) return infinite;
  double difference = 0;
  double largest = 0;
  for (std::size_t i = 0; i < right.size(); ++i) {
    if (!std::isfinite(numbers[i]) || !std::isfinite(right[i])) return infinite;
    difference = std::max(difference, std::abs(numbers[i] - right[i]));
    largest = std::max(largest, std::abs(right[i]));
  }
  return difference == 0 ? 0 : difference / largest;
}

}  // namespace

void add(const TrainedNumbers& part, TrainedNumbers& sum) {
  sum.loss += part.loss;
  sum.gradients.resize(std::max(sum.gradients.size(), part.gradients.size()));
  for (std::size_t layer = 0; layer < part.gradients.size(); ++layer) {
    const std::vector<double>& from = part.gradients[layer];
    std::vector<double>& to = sum.gradients[layer];
    to.resize(std::max(to.size(), from.size()));
    for (std::size_t i = 0; i < from.size(); ++i) to[i] += from[i];
  }
}

double largest_error(const TrainedNumbers& numbers, const TrainedNumbers& right) {
  if (numbers.gradients.size() != right.gradients.size()) return infinite;
  double error = error_of({&numbers.loss, 1}, {&right.loss, 1});
  for (std::size_t layer = 0; layer < right.gradients.size(); ++layer) {
    error = std::max(error, error_of(numbers.gradients[layer], right.gradients[layer]));
  }
  return error;
}

}  // namespace penstock
