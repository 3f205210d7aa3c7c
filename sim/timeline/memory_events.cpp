#include "sim/timeline/memory_events.hpp"

#include <algorithm>

namespace penstock {
namespace {

MemoryTurn turn_of(const MemoryEffect& effect) {
  if (effect.at_end) return MemoryTurn::at_end;
  return effect.takes ? MemoryTurn::at_start : MemoryTurn::at_read;
}

}  // namespace

bool evicts(const Plan& plan) {
  return std::ranges::any_of(plan.classes,
                             [](const WorkClass& work) { return work.pass == Pass::send_evicted; });
}

std::vector<HeldBytes> bytes_for_whole_run(const Plan& plan, const Costs& costs) {
  std::vector<HeldBytes> bytes(plan.ranks);
  for (std::size_t b = 0; b < plan.buffers.size(); ++b) {
    const BufferClass& buffer = plan.buffers[b];
    if (!for_whole_run(buffer.kind)) continue;
    bytes[index(buffer.rank)][static_cast<std::size_t>(buffer.kind)] += costs.bytes[b];
  }
  return bytes;
}

RankEffects::RankEffects(const Plan& plan, const std::vector<std::uint64_t>& weights) {
  for (const WorkClass& work : plan.classes) {
    const auto first = static_cast<std::uint32_t>(effects_.size());
    for (const MemoryEffect& effect : work.effects) {
      const std::uint64_t weight = weights[effect.buffer];
      if (weight == 0) continue;
      const BufferClass& buffer = plan.buffers[effect.buffer];
      effects_.push_back({effect.takes ? weight : 0 - weight, effect.buffer, index(buffer.rank),
                          buffer.kind, turn_of(effect), effect.takes});
    }
    // Stable: a task gives back before it takes, as its class lists the effects.
    std::stable_sort(effects_.begin() + first, effects_.end(),
                     [](const RankEffect& a, const RankEffect& b) { return a.turn < b.turn; });
    classes_.push_back({first, static_cast<std::uint32_t>(effects_.size()), work.resource,
                        plan.is_link(work.resource), work.pass == Pass::send_evicted,
                        work.partner != UINT32_MAX, work.follows_partner});
  }
}

CountingActions::CountingActions(const Plan& plan) {
  if (!plan.written) return;
  first_.assign(plan.tasks(), no_task);
  const auto brings = [&](TaskId transfer, const Rank& rank) {
    const std::vector<MemoryEffect>& effects = plan.class_of(transfer).effects;
    return std::ranges::any_of(effects, [&](const MemoryEffect& effect) {
      return plan.buffers[effect.buffer].rank == rank;
    });
  };
  for (TaskId task = 0; task < plan.tasks(); ++task) {
    const std::uint32_t resource = plan.class_of(task).resource;
    if (plan.is_link(resource)) continue;
    plan.for_each_input(task, [&](TaskId input) {
      const bool moves = plan.is_link(plan.class_of(input).resource);
      if (moves && first_[input] == no_task && brings(input, Rank{resource})) first_[input] = task;
    });
  }
}

MemoryEvents::MemoryEvents(const Plan& plan, const Timeline& timeline,
                           const std::vector<std::uint64_t>& weights)
    : plan_(plan),
      timeline_(timeline),
      effects_(plan, weights),
      counting_(plan),
      rows_(plan.ranks) {
  for (std::uint32_t c = 0; c < plan.classes.size(); ++c) {
    const RankEffects::OfClass& work = effects_.of_class(c);
    if (!work.is_link) continue;
    for (std::uint32_t effect = work.first; effect < work.last; ++effect) {
      rows_[effects_[effect].rank].receives = true;
    }
  }
}

MemoryEvents::Lists MemoryEvents::list_others() const {
  Lists lists;
  if (std::ranges::all_of(rows_, &Row::in_sequence)) return lists;
  lists.own.resize(plan_.ranks);
  lists.moved.resize(plan_.ranks);
  for (TaskId task = 0; task < plan_.tasks(); ++task) {
    const RankEffects::OfClass& work = effects_.of_class(plan_.work[task]);
    for_each_moved(task, work, [&](std::uint32_t rank, const MemoryEvent& event) {
      if (!rows_[rank].in_sequence) lists.moved[rank].push_back(event);
    });
    if (work.is_link || rows_[work.resource].in_sequence) continue;
    for_each_own(task, work,
                 [&](const MemoryEvent& event) { lists.own[work.resource].push_back(event); });
  }
  for (auto* of_ranks : {&lists.own, &lists.moved}) {
    for (auto& events : *of_ranks) std::stable_sort(events.begin(), events.end());
  }
  return lists;
}

}  // namespace penstock
