#include "experiments/measure/torch_runs/traced_visits.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>

#include "experiments/measure/measured_runs/rank_traces.hpp"
#include "validate/statistics/summary.hpp"

namespace penstock {
namespace {

constexpr std::ptrdiff_t least_quiet = 2;

std::vector<TracedRank> ranks_of(const TracedVisit& visit, const NamedOrder& order) {
  TraceReading reading{
      .files = visit.files, .pipeline_ranks = {}, .patterns = {}, .order = order, .by_gaps = false};
  for (const KnownPattern& known : known_patterns()) reading.patterns.emplace_back(known.text);
  std::vector<std::string> notes;
  return read_rank_traces(reading, true, notes);
}

/// Adds the wanted steps of a visit, numbered after `before` others.
void add_steps(const std::vector<TracedRank>& visit, const std::vector<bool>& wanted,
               std::uint32_t before, std::vector<TracedRank>& all) {
  for (std::size_t rank = 0; rank < visit.size(); ++rank) {
    const std::vector<MeasuredOp>& ops = visit[rank].ops.ops;  // sorted by begin
    for (MeasuredOp op : ops) {
      if (!op.step) continue;
      const std::uint32_t place = *op.step - *ops.front().step;
      if (place >= wanted.size() || !wanted[place]) continue;
      op.step = before + place + 1;
      all[rank].ops.ops.push_back(op);
    }
  }
}

}  // namespace

MeasuredRun run_of_visits(const std::vector<TracedVisit>& visits, double quiet_share,
                          const RuntimeOrder& order) {
  const NamedOrder named{order.name, order.placement, order.schedule};
  const auto is_quiet = [&](const TimedStep& step) { return step.others <= quiet_share; };
  std::ptrdiff_t quiet = 0;
  for (const TracedVisit& visit : visits) {
    quiet += std::count_if(visit.steps.begin(), visit.steps.end(), is_quiet);
  }
  std::vector<TracedRank> all;
  std::uint32_t before = 0;
  for (const TracedVisit& visit : visits) {
    const std::vector<TracedRank> ranks = ranks_of(visit, named);
    if (all.empty()) {
      all = ranks;
      for (TracedRank& rank : all) rank.ops.ops.clear();
    }
    std::vector<bool> wanted;
    for (const TimedStep& step : visit.steps) {
      wanted.push_back(quiet < least_quiet || is_quiet(step));
    }
    add_steps(ranks, wanted, before, all);
    before += static_cast<std::uint32_t>(wanted.size());
  }
  return measured_run(std::move(all), named, std::nullopt);
}

double around_ops_us(const std::vector<TracedVisit>& visits, const MeasuredRun& run) {
  std::vector<double> step_us;
  for (const TracedVisit& visit : visits) {
    for (const TimedStep& step : visit.steps) step_us.push_back(step.us);
  }
  std::vector<double> around;
  for (std::size_t i = 0; i < run.numbers.size(); ++i) {
    const Time ops = makespan(run.job.priced.plan, run.measured.iterations[i]);
    around.push_back(step_us[run.numbers[i] - 1] - to_us(ops));
  }
  return around.empty() ? 0 : std::max(0.0, median(std::move(around)));
}

}  // namespace penstock
