#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "schedules/partitioners/simulation/stage_times.hpp"
#include "sim/rerun/rerun.hpp"

namespace penstock {

/// Step times of cuts by the engine. The order is lowered once; a cut only changes durations, and
/// the run before is changed in place.
class EngineTimes {
 public:
  /// The problem's order, or 1F1B, or interleaved 1F1B with several chunks. Throws RuleError. Both
  /// must outlive it.
  EngineTimes(const CutProblem& problem, const StageTimes& times, std::uint32_t stages);

  Time operator()(std::span<const std::uint32_t> cuts);
  std::uint64_t runs() const { return runs_; }

 private:
  Costs costs_of(std::span<const std::uint32_t> cuts) const;

  const StageTimes& times_;
  PricedPlan priced_;
  std::optional<Rerun> run_;
  std::uint64_t runs_ = 0;
};

}  // namespace penstock
