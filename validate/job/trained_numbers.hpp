#pragma once

#include <vector>

namespace penstock {

/// The results of one training iteration, however it was distributed.
struct TrainedNumbers {
  double loss = 0;  // summed over microbatches
  std::vector<std::vector<double>>
      gradients;  // by layer of the model: for each weight, summed over microbatches
  // By layer: its weights after the optimizer step of the iteration; empty: there is none.
  std::vector<std::vector<double>> weights = {};
  double copies_apart = 0;  // largest relative difference between copies of a layer's weights
};

/// Adds the results of ranks or copies of the model; weights of copies must be equal.
void add(const TrainedNumbers& part, TrainedNumbers& sum);

/// The error against reference results: the largest difference of the loss, of any layer's
/// gradients, or of its weights where the reference has any, relative to the layer's largest.
/// Infinite for different models or non-finite values.
double largest_error(const TrainedNumbers& numbers, const TrainedNumbers& right);

}  // namespace penstock
