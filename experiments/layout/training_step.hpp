#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "experiments/layout/stage_coding.hpp"

namespace penstock {

/// The numbers of a training step that a plan leaves open and its pricing fills in.
struct Training {
  std::uint32_t data = 1;       // data replicas of the pipeline
  double gradient_factor = 1;   // bytes of weight gradients for each byte of parameters
  double optimizer_factor = 0;  // the same of what the optimiser keeps
  // Of what each of the copies of a stage keeps only its share: 1 what the optimiser keeps, and
  // updates only that; 2 gradients too, which are summed behind each backward; 3 parameters too,
  // which are gathered for each pass.
  std::uint32_t zero = 0;
  std::optional<double> gathered_bytes;  // of parameters at a time; else two layers in a row
  bool overlaps_sums = true;             // or passes of ZeRO-2 and -3 wait for their own sums
  double optimizer_us = 0;               // of the U of a stage, whatever its size
  double update_bytes_per_s = 0;         // that U moves through memory; 0: in no time
  double tied_embedding_bytes = 0;
  double context_bytes = 0;        // of each rank, whatever it does
  std::vector<CodecTimes> codecs;  // by model stage; empty where nothing is encoded
  bool codecs_overlap = false;     // encoding and decoding run beside the layers of their pass
  double reserve_bytes = 0;        // that the allocator of each rank cannot use
};

}  // namespace penstock
