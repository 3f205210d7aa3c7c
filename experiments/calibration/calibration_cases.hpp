#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "validate/calibration/pipeline_run.hpp"

namespace penstock {

/// A pipeline, before it is lowered. Whatever chunks it is cut into, a rank has as much work.
struct PipelineSetting {
  std::string family = "even";  // "even", "uneven" and "linked" are busy; or "layers"
  std::uint32_t ranks = 2;
  std::uint32_t microbatches = 4;
  double size = 50;  // busy: the microseconds of F, of I and of W; layers: their hidden numbers
  friend bool operator==(const PipelineSetting&, const PipelineSetting&) = default;
};

/// Whether it runs layers.
bool has_layers(const PipelineSetting& setting);

/// "p2 m8 60us even", "p2 m8 h48 layers".
std::string text(const PipelineSetting& setting);

/// A setting with the schedule it runs under and what that is for.
struct PipelineCase {
  PipelineSetting setting;
  std::string schedule = "1f1b";
  PipelinePart part = PipelinePart::training;
};

/// What a calibration runs: 1F1B over a grid of settings, of which a seed says which are trained on
/// and which are interpolated; larger ones to extrapolate to; and settings that were trained on
/// under other schedules. Of what a backend can: at most so many ranks, with or without layers.
std::vector<PipelineCase> pipeline_cases(std::uint64_t seed, std::uint32_t most_ranks,
                                         bool runs_layers);

/// A number that equal splits into parts share.
std::uint64_t split_hash(const std::vector<PipelineCase>& cases);

}  // namespace penstock
