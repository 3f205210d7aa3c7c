#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "hardware_models/codecs/coding/block_format.hpp"
#include "sim/order/schedule.hpp"

namespace penstock {

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
