#pragma once

#include <map>
#include <stdexcept>
#include <vector>

#include "validate/job/job.hpp"
#include "validate/job/trained_numbers.hpp"
#include "validate/training/layered_stage.hpp"

namespace penstock {

/// An action lacks what it needs, or has been done before.
class OrderFailure : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// The weights of a stage on a rank, the versions that updates make of them, and the gradients
/// between updates. A version stays until the last microbatch that uses it is through.
class StageWeights {
 public:
  StageWeights(const std::vector<PlacedLayer>& layers, std::uint64_t seed, double rate);

  /// So many microbatches will use each version.
  void expect(std::uint32_t version);
  /// Version 0 and no gradients: before each run.
  void begin();

  const LayerTensors& first() const { return first_; }
  /// Throws OrderFailure for a version that is not there yet, or no more.
  const LayerTensors& version(std::uint32_t number) const;
  const LayerTensors& newest() const { return versions_.rbegin()->second; }
  void done_with(std::uint32_t version);
  /// Sums of gradients since the last update.
  LayerTensors& sums() { return sums_; }
  /// Makes the next version.
  void update();
  /// Adds all gradients of the run to those of the model's layers.
  void add_gradients(const std::vector<PlacedLayer>& layers, TrainedNumbers& numbers) const;

 private:
  void drop_unused();

  double rate_;
  LayerTensors first_;
  std::map<std::uint32_t, LayerTensors> versions_;
  std::vector<std::uint32_t> users_;  // by version
  std::vector<std::uint32_t> left_;   // the same, of those that are not through
  LayerTensors sums_;
  LayerTensors earlier_;  // gradients that went into updates
};

}  // namespace penstock
