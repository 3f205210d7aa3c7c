#pragma once

#include <map>
#include <stdexcept>
#include <vector>

#include "validate/job/job.hpp"
#include "validate/job/trained_numbers.hpp"
#include "validate/training/layered_stage.hpp"

namespace penstock {

/// An action lacks an input or runs twice.
class OrderFailure : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// The weights of a stage on a rank, their versions, and the gradients between updates. A version
/// is kept until its last microbatch has finished.
class StageWeights {
 public:
  StageWeights(const std::vector<PlacedLayer>& layers, const JobLayers& job);

  /// Announces one more microbatch for this version.
  void expect(std::uint32_t version);
  /// Resets to version 0 without gradients, before each run.
  void begin();

  const LayerTensors& first() const { return first_; }
  /// Throws OrderFailure for a version that does not exist yet, or no longer.
  const LayerTensors& version(std::uint32_t number) const;
  const LayerTensors& newest() const { return versions_.rbegin()->second; }
  LayerTensors& newest() { return versions_.rbegin()->second; }
  void done_with(std::uint32_t version);
  /// Gradient sums since the last update.
  LayerTensors& sums() { return sums_; }
  /// Makes the next version, from the gradient sums since the last.
  void update();
  /// The gradient sums since they were last taken, to be reduced; they start at zero again.
  LayerTensors take_sums();
  /// All gradients of the run so far, taken or not.
  LayerTensors all_gradients() const;
  /// The optimizer step of an iteration, with gradients summed over all copies.
  void step(const LayerTensors& gradients);
  /// Adds all gradients of the run to those of the model's layers.
  void add_gradients(const std::vector<PlacedLayer>& layers, TrainedNumbers& numbers) const;
  /// Adds the weights after `step`, if there was one.
  void add_weights(const std::vector<PlacedLayer>& layers, TrainedNumbers& numbers) const;

 private:
  void adam(const LayerTensors& gradients, LayerTensors& weights);
  void drop_unused();

  double rate_;
  StepRule rule_;
  LayerTensors first_;
  std::map<std::uint32_t, LayerTensors> versions_;
  std::vector<std::uint32_t> users_;  // by version
  std::vector<std::uint32_t> left_;   // of these, those not finished
  LayerTensors sums_;
  LayerTensors earlier_;  // used in earlier updates, or taken
  // Adam's means of gradients and of their squares, and how many steps they are of.
  LayerTensors mean_;
  LayerTensors square_;
  std::uint32_t steps_ = 0;
};

}  // namespace penstock
