#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/plan.hpp"
#include "validate/kernel_model.hpp"
#include "validate/pipeline_run.hpp"

namespace penstock {

/// A pipeline of busy stages, before it is lowered.
struct PipelineSetting {
  std::string family = "even";  // "even", "uneven" or "linked"
  std::uint32_t ranks = 2;
  std::uint32_t microbatches = 4;
  double forward_us =
      50;  // of a rank and a microbatch, whatever chunks it is cut into; I and W too
  friend bool operator==(const PipelineSetting&, const PipelineSetting&) = default;
};

/// "p2 m8 60us even".
std::string text(const PipelineSetting& setting);

/// A setting with the schedule it runs under and what that is for.
struct PipelineCase {
  PipelineSetting setting;
  std::string schedule = "1f1b";
  PipelinePart part = PipelinePart::training;
};

/// What a calibration runs: 1F1B over a grid of settings, of which a seed says which are trained on
/// and which are interpolated; larger ones to extrapolate to; and settings that were trained on
/// under other schedules. At most so many ranks.
std::vector<PipelineCase> pipeline_cases(std::uint64_t seed, std::uint32_t most_ranks);

/// A number that equal splits into parts share.
std::uint64_t split_hash(const std::vector<PipelineCase>& cases);

/// Lowers and prices a case. Nothing where the schedule does not allow the sizes.
std::optional<Job> job_of(const PipelineCase& of);

/// A case ready to run; what its actions take alone is what the model of the busy kernel says.
std::optional<Pipeline> pipeline_of(const PipelineCase& of, const KernelModel& busy);

}  // namespace penstock
