#pragma once

#include <vector>

namespace penstock {

/// What training a model for an iteration comes to, whoever ran which part of it.
struct TrainedNumbers {
  double loss = 0;  // summed over microbatches
  std::vector<std::vector<double>>
      gradients;  // by layer of the model: the same sum for each weight
};

/// Adds up what ranks or copies of the model have.
void add(const TrainedNumbers& part, TrainedNumbers& sum);

/// How far numbers are from others that count as right: the largest difference of the loss or of
/// any layer's gradients, as a share of that layer's largest. Infinite where they are not of the
/// same model, or not all finite.
double largest_error(const TrainedNumbers& numbers, const TrainedNumbers& right);

}  // namespace penstock
