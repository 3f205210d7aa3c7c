#include "schedules/partitioners/chain/cut_tables.hpp"

#include <algorithm>

namespace penstock {
namespace {

/// A table over numbers of stages and ends of the last one.
struct StageTable {
  std::vector<std::vector<double>> least;
  std::vector<std::vector<std::uint32_t>> from;

  StageTable(std::uint32_t stages, std::size_t ends)
      : least(stages + 1, std::vector<double>(ends, no_cut)),
        from(stages + 1, std::vector<std::uint32_t>(ends, 0)) {
    least[0][0] = 0;
  }

  /// The cuts into all stages, or into the number of stages that is best; nothing when none reach
  /// the end.
  std::optional<ChainCuts> traced(bool at_most = false) const {
    const auto size = static_cast<std::uint32_t>(least[0].size()) - 1;
    auto count = static_cast<std::uint32_t>(least.size()) - 1;
    for (std::uint32_t s = 1; at_most && s < least.size(); ++s) {
      if (least[s][size] < least[count][size]) count = s;
    }
    if (least[count][size] == no_cut) return std::nullopt;
    ChainCuts best{least[count][size], std::vector<std::uint32_t>(count + 1, size)};
    for (std::uint32_t s = count; s > 0; --s) best.cuts[s - 1] = from[s][best.cuts[s]];
    return best;
  }
};

/// A range of ends whose best beginnings are in a range.
struct EndRange {
  std::uint32_t first_end, last_end;
  std::uint32_t first_begin, last_begin;
};

/// Fills a row for a range of ends: the middle first, then both halves.
void fill_row(std::span<const double> prefix, std::uint32_t s, EndRange range, StageTable& table) {
  if (range.first_end > range.last_end) return;
  const std::uint32_t end = range.first_end + (range.last_end - range.first_end) / 2;
  std::uint32_t best = range.first_begin;
  for (std::uint32_t begin = range.first_begin; begin <= range.last_begin && begin < end; ++begin) {
    const double cost = prefix[end] - prefix[begin];
    const double sum = table.least[s - 1][begin] + cost * cost;
    if (sum >= table.least[s][end]) continue;
    table.least[s][end] = sum;
    best = begin;
  }
  table.from[s][end] = best;
  if (end > range.first_end) {
    fill_row(prefix, s, {range.first_end, end - 1, range.first_begin, best}, table);
  }
  fill_row(prefix, s, {end + 1, range.last_end, best, range.last_begin}, table);
}

using Cuts = std::vector<std::uint32_t>;

/// Positions that s stages reach, for each s.
class StageProbes {
 public:
  StageProbes(std::uint32_t size, std::uint32_t stages, const StageCost& cost,
              const StageCost& limited, double limit)
      : size_(size),
        stages_(stages),
        cost_(cost),
        limited_(limited),
        limit_(limit),
        reached_(stages + 1, std::vector<bool>(size + 1)) {}

  Probe<Cuts> operator()(double value) {
    for (std::vector<bool>& one : reached_) one.assign(size_ + 1, false);
    reached_[0][0] = true;
    next_ = no_cut;
    for (std::uint32_t stage = 0; stage < stages_; ++stage) extend(stage, value);
    if (!reached_[stages_][size_]) return {.found = {}, .value = next_};
    Cuts cuts = traced(value);
    const double most = most_of(cuts);
    return {.found = std::move(cuts), .value = most};
  }

 private:
  /// What remains needs a layer for each later stage.
  std::uint32_t last_end(std::uint32_t stage) const { return size_ - (stages_ - stage - 1); }

  bool fits(std::uint32_t begin, std::uint32_t end, std::uint32_t stage, double value) {
    if (limited_(begin, end, stage) > limit_) return false;
    const double cost = cost_(begin, end, stage);
    if (cost <= value) return true;
    next_ = std::min(next_, cost);
    return false;
  }

  /// A stage that begins later ends no earlier, so both ends only move forward.
  void extend(std::uint32_t stage, double value) {
    std::uint32_t end = stage;
    std::uint32_t marked = stage;  // positions up to here are done
    for (std::uint32_t begin = stage; begin < last_end(stage); ++begin) {
      if (!reached_[stage][begin]) continue;
      end = std::max(end, begin);
      while (end < last_end(stage) && fits(begin, end + 1, stage, value)) ++end;
      marked = std::max(marked, begin);
      while (marked < end) reached_[stage + 1][++marked] = true;
    }
  }

  Cuts traced(double value) {
    Cuts cuts(stages_ + 1, size_);
    for (std::uint32_t stage = stages_; stage-- > 0;) {
      std::uint32_t begin = cuts[stage + 1] - 1;
      while (!reached_[stage][begin] || !fits(begin, cuts[stage + 1], stage, value)) --begin;
      cuts[stage] = begin;
    }
    return cuts;
  }

  double most_of(const Cuts& cuts) const {
    double most = 0;
    for (std::uint32_t s = 0; s < stages_; ++s) {
      most = std::max(most, cost_(cuts[s], cuts[s + 1], s));
    }
    return most;
  }

  std::uint32_t size_;
  std::uint32_t stages_;
  const StageCost& cost_;
  const StageCost& limited_;
  double limit_;
  std::vector<std::vector<bool>> reached_;
  double next_ = no_cut;
};

}  // namespace

ChainCuts least_squares(std::span<const double> prefix, std::uint32_t stages) {
  const auto size = static_cast<std::uint32_t>(prefix.size()) - 1;
  StageTable table(stages, prefix.size());
  for (std::uint32_t s = 1; s <= stages; ++s)
    fill_row(prefix, s, {s, size, s - 1, size - 1}, table);
  return *table.traced();
}

std::optional<ChainCuts> least_boundaries(std::span<const double> prefix,
                                          std::span<const double> boundary, double longest,
                                          std::uint32_t stages, bool exactly) {
  const auto size = static_cast<std::uint32_t>(prefix.size()) - 1;
  StageTable table(stages, prefix.size());
  for (std::uint32_t s = 1; s <= stages; ++s) {
    for (std::uint32_t end = s; end <= size; ++end) {
      const double own = end == size ? 0 : boundary[end];
      for (std::uint32_t begin = end; begin-- > s - 1;) {
        if (prefix[end] - prefix[begin] > longest) break;
        const double sum = table.least[s - 1][begin] + own;
        if (sum > table.least[s][end] || sum == no_cut) continue;
        table.least[s][end] = sum;
        table.from[s][end] = begin;
      }
    }
  }
  return table.traced(!exactly);
}

std::optional<ChainCuts> least_by_stage(std::uint32_t size, std::uint32_t stages,
                                        const StageCost& cost, const StageCost& limited,
                                        double limit) {
  StageProbes probes(size, stages, cost, limited, limit);
  Probe<Cuts> best = bisect<Cuts>(probes);
  if (!best.found) return std::nullopt;
  return ChainCuts{best.value, std::move(*best.found)};
}

ChainCuts least_memory(const CutProblem& problem, const CutChain& chain, std::uint32_t stages) {
  const StageCost memory = [&](std::uint32_t begin, std::uint32_t end, std::uint32_t stage) {
    return stage_memory(problem, chain, begin, end, stage, stages);
  };
  const StageCost nothing = [](std::uint32_t, std::uint32_t, std::uint32_t) { return 0.0; };
  return *least_by_stage(problem.size(), stages, memory, nothing, 0);
}

std::optional<ChainCuts> least_by_any_stage(std::uint32_t size, std::uint32_t stages,
                                            const StageCost& cost, const StageCost& limited,
                                            double limit) {
  StageTable table(stages, size + 1);
  for (std::uint32_t s = 0; s < stages; ++s) {
    for (std::uint32_t end = s + 1; end <= size; ++end) {
      double& least = table.least[s + 1][end];
      for (std::uint32_t begin = s; begin < end; ++begin) {
        const double before = table.least[s][begin];
        if (before >= least || limited(begin, end, s) > limit) continue;
        const double value = std::max(before, cost(begin, end, s));
        if (value >= least) continue;
        least = value;
        table.from[s + 1][end] = begin;
      }
    }
  }
  return table.traced();
}

}  // namespace penstock
