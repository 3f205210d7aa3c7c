#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "hardware_models/codecs/coding/block_format.hpp"
#include "sim/order/schedule.hpp"

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

/// A layer of a model, by its number, in a pass: F, I or W.
struct LayerPass {
  std::uint32_t layer = 0;
  Pass pass = Pass::forward;
  friend auto operator<=>(const LayerPass&, const LayerPass&) = default;
};

/// CPU time over a number of cells.
struct LayerSpent {
  double ns = 0;
  std::uint32_t cells = 0;
};

/// How long the layers of a model took inside the actions of a run.
using TimesOfLayers = std::map<LayerPass, LayerSpent>;

/// Adds the times of some ranks to those of others.
void add(const TimesOfLayers& part, TimesOfLayers& sum);

/// Codecs of a model stage: of the activations that it keeps, and of the tensors that it exchanges
/// with the next stage on another rank. None: these are not encoded.
struct StageCodecs {
  std::optional<CodecSpec> stash;
  std::optional<CodecSpec> link;
};

/// What encoding did to the values of a run.
struct CodingSums {
  std::uint64_t values = 0;
  std::uint64_t packed_bytes = 0;
  double signal = 0;      // sum of squares
  double noise = 0;       // of the errors
  double most_error = 0;  // of a value
  double most_value = 0;

  /// Signal over quantization noise; infinite without noise.
  double sqnr_db() const;
  double bits_per_value() const;
};

/// Of the stash and of links, and the most that each rank kept at once.
struct CodingNumbers {
  CodingSums stash;
  CodingSums link;
  std::map<std::uint32_t, double> peak_stash_bytes;  // by rank
};

void add(const CodingSums& part, CodingSums& sum);
void add(const CodingNumbers& part, CodingNumbers& sum);

}  // namespace penstock
