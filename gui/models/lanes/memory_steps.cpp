#include "gui/models/lanes/memory_steps.hpp"

#include <algorithm>
#include <array>
#include <numeric>

#include "experiments/show/pictures/lanes/memory_lanes.hpp"
#include "sim/report/memory_events.hpp"

namespace penstock {
namespace {

using Held = std::array<std::uint64_t, buffer_kinds>;

std::uint64_t total(const Held& held) {
  return std::accumulate(held.begin(), held.end(), std::uint64_t{0});
}

/// Collects the changes of one rank; changes within a stretch keep their largest total.
class StepCollector {
 public:
  StepCollector(std::int64_t stretch, const Held& start) : stretch_(stretch), held_(start) {
    steps_.push_back({0, start});
  }
  void change(std::int64_t time, BufferKind kind, std::uint64_t by) {
    held_[static_cast<std::size_t>(kind)] += by;
    const std::int64_t at = time / stretch_ * stretch_;
    if (steps_.back().time != at) {
      steps_.push_back({at, held_});
    } else if (stretch_ == 1 || is_more(total(held_), total(steps_.back().held))) {
      steps_.back().held = held_;
    }
  }
  struct Step {
    std::int64_t time;
    Held held;
  };
  const std::vector<Step>& steps() const { return steps_; }

 private:
  /// A buffer given back in the moment it came may pass through zero.
  static bool is_more(std::uint64_t bytes, std::uint64_t than) {
    return bytes > than && bytes < std::uint64_t{1} << 62;
  }

  std::int64_t stretch_;
  Held held_;
  std::vector<Step> steps_;
};

/// What the ranks hold for the whole run.
std::vector<Held> held_always(const ViewedRun& run) {
  std::vector<Held> held(run.plan.ranks, Held{});
  for (std::size_t b = 0; b < run.plan.buffers.size(); ++b) {
    const BufferClass& buffer = run.plan.buffers[b];
    if (!for_whole_run(buffer.kind) || !is_rank(buffer.rank)) continue;
    held[index(buffer.rank)][static_cast<std::size_t>(buffer.kind)] += run.costs.bytes[b];
  }
  return held;
}

RunMemory from_costs(const ViewedRun& run, std::size_t most_steps) {
  const std::vector<Held> always = held_always(run);
  const bool many = run.plan.tasks() / std::max(1U, run.plan.ranks) > most_steps;
  const std::int64_t stretch =
      many ? run.span().picoseconds / static_cast<std::int64_t>(most_steps) + 1 : 1;
  std::vector<StepCollector> ranks;
  for (const Held& held : always) ranks.emplace_back(stretch, held);
  MemoryEvents events(run.plan, run.timeline, run.costs.bytes);
  events.for_each([&](std::uint32_t rank) { ranks[rank] = StepCollector(stretch, always[rank]); },
                  [&](std::uint32_t rank, Time time, TaskId, const RankEffect& effect) {
                    ranks[rank].change(time.picoseconds, effect.kind, effect.change);
                  });
  RunMemory memory;
  for (std::size_t k = 0; k < buffer_kinds; ++k) {
    const auto holds = [k](const StepCollector::Step& step) { return step.held[k] > 0; };
    const bool any = std::any_of(ranks.begin(), ranks.end(), [&](const StepCollector& rank) {
      return std::any_of(rank.steps().begin(), rank.steps().end(), holds);
    });
    if (any) memory.kinds.push_back(static_cast<BufferKind>(k));
  }
  for (const StepCollector& rank : ranks) {
    MemorySteps& steps = memory.ranks.emplace_back();
    for (const auto& step : rank.steps()) {
      steps.time.push_back(step.time);
      for (const BufferKind kind : memory.kinds) {
        steps.bytes.push_back(step.held[static_cast<std::size_t>(kind)]);
      }
      memory.most = std::max(memory.most, total(step.held));
    }
  }
  return memory;
}

RunMemory from_samples(const ViewedRun& run, std::size_t most_steps) {
  RunMemory memory;
  memory.by_kind = false;
  memory.kinds = {BufferKind::parameters};
  const Time shortest{run.span().picoseconds / static_cast<std::int64_t>(most_steps)};
  for (const MemoryLane& lane : memory_lanes(run.plan, run.timeline, run.span(), shortest)) {
    MemorySteps& steps = memory.ranks.emplace_back();
    for (const HeldMemory& held : lane.held) {
      steps.time.push_back(held.begin.picoseconds);
      steps.bytes.push_back(held.bytes);
    }
    memory.most = std::max(memory.most, lane.peak.bytes);
  }
  return memory;
}

}  // namespace

RunMemory memory_of_run(const ViewedRun& run, std::size_t most_steps) {
  RunMemory memory;
  const bool weighs = std::any_of(run.costs.bytes.begin(), run.costs.bytes.end(),
                                  [](std::uint64_t bytes) { return bytes > 0; });
  if (weighs) {
    memory = from_costs(run, most_steps);
  } else if (!run.timeline.memory.empty()) {
    memory = from_samples(run, most_steps);
  }
  if (memory.most == 0) return {};
  return memory;
}

}  // namespace penstock
