#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "schedules/partitioners/simulation/engine_times.hpp"
#include "schedules/partitioners/simulation/one_f_one_b_times.hpp"

namespace penstock {

/// The best cuts found and their step time by the engine.
struct SimulatedCuts {
  std::vector<std::uint32_t> cuts;  // empty: none
  Time time = max_time;
};

/// Judges cuts of one problem by the engine. Under 1F1B a cut that its closed walk finds no better
/// than the best one is dropped before.
class CutJudge {
 public:
  /// All must outlive it. Throws RuleError when the order does not allow so many stages.
  CutJudge(const CutProblem& problem, const CutChain& chain, const StageTimes& times,
           std::uint32_t stages);

  std::uint32_t stages() const { return stages_; }
  bool is_one_f_one_b() const { return walk_.has_value(); }
  /// Whether every stage keeps to the capacity.
  bool fits(std::span<const std::uint32_t> cuts) const;
  bool fits(std::uint32_t begin, std::uint32_t end, std::uint32_t stage) const;
  /// The step time; the latest one when a stage does not fit.
  Time time_of(std::span<const std::uint32_t> cuts);
  /// Takes cuts that are better than `best`, or as good if `or_as_good`. Whether it did.
  bool take(std::span<const std::uint32_t> cuts, bool or_as_good, SimulatedCuts& best);

 private:
  const CutProblem& problem_;
  const CutChain& chain_;
  std::uint32_t stages_;
  EngineTimes engine_;
  std::optional<OneFOneBTimes> walk_;
};

}  // namespace penstock
