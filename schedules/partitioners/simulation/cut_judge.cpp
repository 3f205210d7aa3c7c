#include "schedules/partitioners/simulation/cut_judge.hpp"

#include "schedules/patterns/alternation.hpp"

namespace penstock {
namespace {

/// Whether the problem's order is 1F1B with one stage per rank.
bool asks_for_one_f_one_b(const CutProblem& problem, std::uint32_t stages) {
  if (problem.schedule == nullptr || problem.placement == nullptr) return problem.chunks == 1;
  const Placement plain = Placement::loop(stages, 1);
  if (!(*problem.placement == plain)) return false;
  return *problem.schedule == one_f_one_b_order("1f1b", plain, problem.microbatches);
}

}  // namespace

CutJudge::CutJudge(const CutProblem& problem, const CutChain& chain, const StageTimes& times,
                   std::uint32_t stages)
    : problem_(problem), chain_(chain), stages_(stages), engine_(problem, times, stages) {
  if (asks_for_one_f_one_b(problem, stages)) walk_.emplace(times, stages, problem.microbatches);
}

bool CutJudge::fits(std::uint32_t begin, std::uint32_t end, std::uint32_t stage) const {
  if (!problem_.memory_bytes) return true;
  return stage_memory(problem_, chain_, begin, end, stage, stages_) <= *problem_.memory_bytes;
}

bool CutJudge::fits(std::span<const std::uint32_t> cuts) const {
  for (std::uint32_t s = 0; s < stages_; ++s) {
    if (!fits(cuts[s], cuts[s + 1], s)) return false;
  }
  return true;
}

Time CutJudge::time_of(std::span<const std::uint32_t> cuts) {
  if (!fits(cuts)) return max_time;
  return walk_ ? (*walk_)(cuts) : engine_(cuts);
}

bool CutJudge::take(std::span<const std::uint32_t> cuts, bool or_as_good, SimulatedCuts& best) {
  const Time bound = time_of(cuts);
  if (bound > best.time || bound == max_time || (bound == best.time && !or_as_good)) return false;
  const Time time = walk_ ? engine_(cuts) : bound;
  if (time > best.time || (time == best.time && !or_as_good)) return false;
  best = {{cuts.begin(), cuts.end()}, time};
  return true;
}

}  // namespace penstock
