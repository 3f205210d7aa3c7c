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

/// Copies of a layer should have the same weights.
void add_weights(const TrainedNumbers& part, TrainedNumbers& sum) {
  sum.copies_apart = std::max(sum.copies_apart, part.copies_apart);
  sum.weights.resize(std::max(sum.weights.size(), part.weights.size()));
  for (std::size_t layer = 0; layer < part.weights.size(); ++layer) {
    if (part.weights[layer].empty()) continue;
    if (sum.weights[layer].empty()) {
      sum.weights[layer] = part.weights[layer];
    } else {
      const double apart = error_of(part.weights[layer], sum.weights[layer]);
      sum.copies_apart = std::max(sum.copies_apart, apart);
    }
  }
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
  add_weights(part, sum);
}

double largest_error(const TrainedNumbers& numbers, const TrainedNumbers& right) {
  if (numbers.gradients.size() != right.gradients.size()) return infinite;
  double error = error_of({&numbers.loss, 1}, {&right.loss, 1});
  for (std::size_t layer = 0; layer < right.gradients.size(); ++layer) {
    error = std::max(error, error_of(numbers.gradients[layer], right.gradients[layer]));
  }
  if (right.weights.empty()) return error;
  if (numbers.weights.size() != right.weights.size()) return infinite;
  for (std::size_t layer = 0; layer < right.weights.size(); ++layer) {
    error = std::max(error, error_of(numbers.weights[layer], right.weights[layer]));
  }
  return std::max(error, numbers.copies_apart);
}

void add(const TimesOfLayers& part, TimesOfLayers& sum) {
  for (const auto& [layer, spent] : part) {
    sum[layer].ns += spent.ns;
    sum[layer].cells += spent.cells;
  }
}

double CodingSums::sqnr_db() const { return 10 * std::log10(signal / noise); }

double CodingSums::bits_per_value() const {
  return values == 0 ? 0 : 8 * static_cast<double>(packed_bytes) / static_cast<double>(values);
}

void add(const CodingSums& part, CodingSums& sum) {
  sum.values += part.values;
  sum.packed_bytes += part.packed_bytes;
  sum.signal += part.signal;
  sum.noise += part.noise;
  sum.most_error = std::max(sum.most_error, part.most_error);
  sum.most_value = std::max(sum.most_value, part.most_value);
}

void add(const CodingNumbers& part, CodingNumbers& sum) {
  add(part.stash, sum.stash);
  add(part.link, sum.link);
  sum.peak_stash_bytes.insert(part.peak_stash_bytes.begin(), part.peak_stash_bytes.end());
}

}  // namespace penstock
