#pragma once

#include <cstdint>
#include <span>

#include "schedules/partitioners/simulation/stage_times.hpp"
#include "sim/costs/priced_plan.hpp"
#include "sim/timeline/timeline.hpp"

namespace penstock {

/// Step times of cuts by the engine. The order is lowered once; a cut only changes durations.
class EngineTimes {
 public:
  /// The problem's order, or 1F1B, or interleaved 1F1B with several chunks. Throws RuleError. Both
  /// must outlive it.
  EngineTimes(const CutProblem& problem, const StageTimes& times, std::uint32_t stages);

  /// Throws InputError when the clock cannot hold the times of all actions.
  Time operator()(std::span<const std::uint32_t> cuts);
  std::uint64_t runs() const { return runs_; }

 private:
  const StageTimes& times_;
  PricedPlan priced_;
  Timeline timeline_;  // of the latest cut
  std::uint64_t runs_ = 0;
};

}  // namespace penstock
