#include "sim/report/memory.hpp"

#include <algorithm>
#include <span>

#include "sim/timeline/memory_events.hpp"

namespace penstock {
namespace {

/// Activations count one each, whatever they weigh.
std::vector<std::uint64_t> count_activations(const Plan& plan) {
  std::vector<std::uint64_t> weights;
  for (const BufferClass& buffer : plan.buffers) {
    weights.push_back(buffer.kind == BufferKind::stash ? 1 : 0);
  }
  return weights;
}

void add_sample(std::vector<MemorySample>& samples, std::uint32_t rank, const Holding& holding) {
  if (holding.task == no_task) samples.clear();
  const bool same_moment = !samples.empty() && samples.back().time == holding.time;
  if (same_moment && holding.task != no_task) {
    samples.back().bytes = holding.bytes;
  } else {
    samples.push_back({Rank{rank}, holding.time, holding.bytes});
  }
}

/// Activations allocated and freed by the actions of each class, in order.
class StashChanges {
 public:
  struct Change {
    std::uint32_t rank;
    std::int32_t by;
  };
  enum class Cell : std::uint8_t { changes_nothing, alone, first, second };
  struct OfClass {
    std::uint32_t at_start, at_end, behind;  // where its changes begin
    Cell cell;
  };

  explicit StashChanges(const Plan& plan) {
    for (const WorkClass& work : plan.classes) {
      const std::uint32_t at_start = add(plan, work, /*at_end=*/false);
      const std::uint32_t at_end = add(plan, work, /*at_end=*/true);
      const auto behind = static_cast<std::uint32_t>(changes_.size());
      const Cell cell = work.follows_partner         ? Cell::second
                        : work.partner != UINT32_MAX ? Cell::first
                        : at_start == behind         ? Cell::changes_nothing
                                                     : Cell::alone;
      classes_.push_back({at_start, at_end, behind, cell});
    }
  }
  const OfClass& of_class(std::uint32_t work) const { return classes_[work]; }
  std::span<const Change> at_start(const OfClass& work) const {
    return {changes_.data() + work.at_start, changes_.data() + work.at_end};
  }
  std::span<const Change> at_end(const OfClass& work) const {
    return {changes_.data() + work.at_end, changes_.data() + work.behind};
  }

 private:
  /// Returns where the changes at one end of a task begin.
  std::uint32_t add(const Plan& plan, const WorkClass& work, bool at_end) {
    const auto first = static_cast<std::uint32_t>(changes_.size());
    for (const MemoryEffect& effect : work.effects) {
      const BufferClass& buffer = plan.buffers[effect.buffer];
      if (effect.at_end != at_end || buffer.kind != BufferKind::stash) continue;
      changes_.push_back({index(buffer.rank), effect.takes ? 1 : -1});
    }
    return first;
  }

  std::vector<OfClass> classes_;
  std::vector<Change> changes_;
};

}  // namespace

std::vector<MemoryPeak> memory_peaks(const Plan& plan, const Costs& costs, const Timeline& timeline,
                                     std::vector<MemorySample>* samples) {
  std::vector<MemoryPeak> peaks(plan.ranks);
  std::vector<std::vector<MemorySample>> samples_of_rank(plan.ranks);
  for_each_holding(plan, costs, timeline, [&](std::uint32_t rank, const Holding& holding) {
    MemoryPeak& peak = peaks[rank];
    const bool first = holding.task == no_task;
    if (first || (holding.takes && holding.bytes > peak.bytes)) {
      peak = {holding.bytes, holding.by_kind, holding.time, holding.task};
    }
    if (samples != nullptr) add_sample(samples_of_rank[rank], rank, holding);
  });
  if (samples != nullptr) {
    for (const auto& of_rank : samples_of_rank) {
      samples->insert(samples->end(), of_rank.begin(), of_rank.end());
    }
  }
  return peaks;
}

std::vector<std::optional<Time>> first_above(const Plan& plan, const Costs& costs,
                                             const Timeline& timeline, std::uint64_t bytes) {
  std::vector<std::optional<Time>> first(plan.ranks);
  for_each_holding(plan, costs, timeline, [&](std::uint32_t rank, const Holding& holding) {
    if (holding.task == no_task) first[rank].reset();
    if (holding.takes && holding.bytes > bytes && !first[rank]) first[rank] = holding.time;
  });
  return first;
}

std::vector<std::uint32_t> peak_activations(const Plan& plan) {
  using Cell = StashChanges::Cell;
  const StashChanges changes(plan);
  std::vector<std::uint32_t> held(plan.ranks), peak(plan.ranks);
  const auto apply = [&](std::span<const StashChanges::Change> all) {
    for (const StashChanges::Change& change : all) {
      std::uint32_t& now = held[change.rank];
      now += static_cast<std::uint32_t>(change.by);
      peak[change.rank] = std::max(peak[change.rank], now);
    }
  };
  for (TaskId task = 0; task < plan.tasks(); ++task) {
    const StashChanges::OfClass& work = changes.of_class(plan.work[task]);
    if (work.cell == Cell::changes_nothing) continue;
    if (work.cell != Cell::second) apply(changes.at_start(work));
    // The second part of a fused cell starts with the first, so before the first ends.
    if (work.cell == Cell::first) apply(changes.at_start(changes.of_class(plan.work[task + 1])));
    apply(changes.at_end(work));
  }
  return peak;
}

std::vector<std::uint32_t> peak_activations(const Plan& plan, const Timeline& timeline) {
  if (!evicts(plan)) return peak_activations(plan);
  std::vector<std::int64_t> held(plan.ranks);
  std::vector<std::uint32_t> peak(plan.ranks);
  const auto start = [&](std::uint32_t rank) { held[rank] = peak[rank] = 0; };
  MemoryEvents(plan, timeline, count_activations(plan))
      .for_each(start, [&](std::uint32_t rank, Time, TaskId, const RankEffect& effect) {
        held[rank] += effect.takes ? 1 : -1;
        const std::int64_t most = std::max<std::int64_t>(peak[rank], held[rank]);
        peak[rank] = static_cast<std::uint32_t>(most);
      });
  return peak;
}

std::vector<BytesByKind> memory_kinds(const Plan& plan, const Costs& costs,
                                      const Timeline& timeline) {
  struct Kinds {
    std::vector<BytesByKind> all;
    Time last{};
  };
  std::vector<Kinds> ranks(plan.ranks);
  for_each_holding(plan, costs, timeline, [&](std::uint32_t rank, const Holding& holding) {
    Kinds& kinds = ranks[rank];
    if (holding.task == no_task) kinds = {};
    const bool same_moment = !kinds.all.empty() && kinds.last == holding.time;
    if (!same_moment) kinds.all.emplace_back();
    kinds.all.back() = holding.by_kind;
    kinds.last = holding.time;
  });
  std::vector<BytesByKind> all;
  for (const Kinds& kinds : ranks) all.insert(all.end(), kinds.all.begin(), kinds.all.end());
  return all;
}

}  // namespace penstock
