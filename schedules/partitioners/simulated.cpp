#include <fmt/format.h>

#include <cstdint>
#include <utility>

#include "schedules/partitioners/chain/bottleneck.hpp"
#include "schedules/partitioners/chain/cut_tables.hpp"
#include "schedules/partitioners/registry.hpp"
#include "schedules/partitioners/simulation/cut_search.hpp"
#include "sim/base/short_text.hpp"

namespace penstock::simulated_file {
namespace {

/// Cuts to start from: of the least bottleneck, or, where these do not fit, of the least memory.
SimulatedCuts start(const CutProblem& problem, const CutChain& chain, CutJudge& judge) {
  SimulatedCuts best;
  judge.take(balanced_cuts(chain.compute_s, judge.stages()).cuts, true, best);
  if (!problem.memory_bytes || !best.cuts.empty()) return best;
  judge.take(least_memory(problem, chain, judge.stages()).cuts, true, best);
  return best;
}

/// Under 1F1B bounds exclude most cuts; other orders need a run of the engine for each.
bool can_try_all(const CutProblem& problem, const CutJudge& judge) {
  const std::uint64_t most = judge.is_one_f_one_b() ? 1'000'000 : 20'000;
  return cuts_to_try(problem.size(), judge.stages(), most) <= most;
}

Cut out_of_memory(const CutProblem& problem) {
  Cut cut;
  const bool of_rank = !problem.holds.empty();
  cut.finding = fmt::format(
      "out of memory: no cut was found that keeps every {} within {}; the method memory "
      "without a capacity says what is needed",
      of_rank ? "rank" : "stage",
      bytes_text(static_cast<std::uint64_t>(of_rank ? problem.rank_bytes : *problem.memory_bytes)));
  return cut;
}

Cut cut(const CutProblem& problem) {
  const std::uint32_t stages = stages_to_fill(problem);
  const CutChain chain = chain_of(problem);
  const StageTimes times(problem, chain);
  CutJudge judge(problem, chain, times, stages);
  SimulatedCuts best = start(problem, chain, judge);
  const bool all = can_try_all(problem, judge);
  const CutSettings& settings = problem.settings;
  const std::uint64_t evaluations = all ? 2'000 : settings.evaluations;
  if (!best.cuts.empty()) search_near(times, evaluations, settings.seed, judge, best);
  if (all) search_all(times, problem.microbatches, judge, best);
  if (best.cuts.empty()) return out_of_memory(problem);
  Cut result = cut_at(problem, chain, std::move(best.cuts), to_us(best.time) / 1e6);
  result.notes.push_back(fmt::format(
      "the value is the step time of {} microbatches by the engine; {}", problem.microbatches,
      all ? "no cut is faster" : "local search: a faster cut may exist"));
  return result;
}

}  // namespace

constinit extern const PartitionerEntry simulated_entry{
    .name = "simulated",
    .summary = "the shortest step by the engine; exact up to a million cuts, else local search",
    .cut = cut,
    .settings = "transfers, evaluations, seed",
    .follows_order = true,
    .simulates = true,
    .keeps_capacity = true};

}  // namespace penstock::simulated_file
