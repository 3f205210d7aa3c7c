#pragma once

#include <vector>

namespace penstock {

/// The results of one training iteration, however it was distributed.
struct TrainedNumbers {
  double loss = 0;  // summed over microbatches
  std::vector<std::vector<double>>
      gradients;  // by layer of the model: for each weight, summed over microbatches
};

/// Adds the results of ranks or copies of the model.
void add(const TrainedNumbers& part, TrainedNumbers& sum);

/// The error against reference results: the largest difference of the loss or of any layer's
/// gradients, relative to the layer's largest. Infinite for different models or non-finite values.
double largest_error(const TrainedNumbers& numbers, const TrainedNumbers& right);

}  // namespace penstock
