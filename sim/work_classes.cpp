#include "sim/work_classes.hpp"

namespace penstock {
namespace {
constexpr std::uint32_t unnamed = UINT32_MAX;
}

WorkClasses::WorkClasses(const Placement& placement, bool has_backward, Plan& plan)
    : placement_(placement),
      has_backward_(has_backward),
      plan_(plan),
      compute_(std::size_t{placement.slots()} * pass_count * 2, unnamed),
      receive_(std::size_t{placement.slots()} * 2, unnamed),
      kept_(placement.slots(), unnamed),
      away_(std::size_t{placement.slots()} * 2, unnamed),
      transfer_(std::size_t{placement.slots()} * 2) {
  for (Stage stage : placement.stages()) {
    for (Microbatch replica : Numbers<Microbatch>(placement.replicas(stage))) {
      const Rank rank = placement.rank_of(stage, replica);
      add_buffer(BufferKind::parameters, stage, rank);
      stash_.push_back(add_buffer(BufferKind::stash, stage, rank));
    }
  }
}

std::uint32_t WorkClasses::add(WorkClass work) {
  plan_.classes.push_back(std::move(work));
  return static_cast<std::uint32_t>(plan_.classes.size() - 1);
}

std::uint32_t WorkClasses::add_buffer(BufferKind kind, Stage stage, Rank rank) {
  plan_.buffers.push_back({kind, stage, rank});
  return static_cast<std::uint32_t>(plan_.buffers.size() - 1);
}

std::uint32_t WorkClasses::compute(const Action& action, bool crosses) {
  const std::uint32_t slot = placement_.slot_of(action.stage, action.microbatch);
  const std::size_t pass = static_cast<std::size_t>(action.pass);
  std::uint32_t& known = compute_[(slot * pass_count + pass) * 2 + (crosses ? 1 : 0)];
  if (known == unnamed) {
    known = add({.pass = action.pass,
                 .stage = action.stage,
                 .resource = index(placement_.rank_of_slot(slot)),
                 .effects = effects_of(action, slot, crosses)});
  }
  return known;
}

std::vector<MemoryEffect> WorkClasses::effects_of(const Action& action, std::uint32_t slot,
                                                  bool crosses) {
  std::vector<MemoryEffect> effects;
  if (action.pass == Pass::forward) {
    if (crosses) {
      const std::uint32_t received =
          receive_buffer(slot, *placement_.before(action.stage), BufferKind::receive);
      effects.push_back({received, /*at_end=*/false, /*takes=*/false});
    }
    effects.push_back({stash_[slot], /*at_end=*/false, /*takes=*/true});
  }
  const bool ends = has_backward_ ? ends_activation(action.pass) : action.pass == Pass::forward;
  if (ends) effects.push_back({stash_[slot], /*at_end=*/true, /*takes=*/false});
  return effects;
}

std::uint32_t WorkClasses::receive_buffer(std::uint32_t slot, Stage holds, BufferKind kind) {
  std::uint32_t& known = receive_[slot * 2 + (kind == BufferKind::gradient ? 1 : 0)];
  if (known == unnamed) known = add_buffer(kind, holds, placement_.rank_of_slot(slot));
  return known;
}

std::uint32_t WorkClasses::link_between(Rank from, Rank to) {
  const auto [found, is_new] =
      links_.try_emplace({index(from), index(to)}, static_cast<std::uint32_t>(plan_.links.size()));
  if (is_new) plan_.links.push_back({from, to});
  return placement_.ranks() + found->second;
}

std::uint32_t WorkClasses::transfer(const Action& action, Stage to) {
  const bool gradient = gives_gradient(action.pass);
  const std::uint32_t sender = placement_.slot_of(action.stage, action.microbatch);
  const std::uint32_t receiver = placement_.slot_of(to, action.microbatch);
  auto& targets = transfer_[sender * 2 + (gradient ? 1 : 0)];
  for (const auto& [slot, work] : targets) {
    if (slot == receiver) return work;
  }
  // A gradient has the size of the activation it belongs to, which the receiving stage put out.
  const std::uint32_t buffer =
      receive_buffer(receiver, gradient ? to : action.stage,
                     gradient ? BufferKind::gradient : BufferKind::receive);
  WorkClass work{
      .pass = gradient ? Pass::send_gradient : Pass::send_activation,
      .stage = action.stage,
      .resource = link_between(placement_.rank_of_slot(sender), placement_.rank_of_slot(receiver)),
      .buffer = buffer,
      .effects = {}};
  if (!gradient) work.effects.push_back({buffer, /*at_end=*/true, /*takes=*/true});
  targets.emplace_back(receiver, add(std::move(work)));
  return targets.back().second;
}

std::uint32_t WorkClasses::kept_buffer(std::uint32_t slot, Rank keeper) {
  std::uint32_t& known = kept_[slot];
  if (known == unnamed)
    known = add_buffer(BufferKind::stash, plan_.buffers[stash_[slot]].stage, keeper);
  return known;
}

std::uint32_t WorkClasses::stash_transfer(const Action& action, Rank keeper) {
  const bool returns = action.pass == Pass::load;
  const std::uint32_t slot = placement_.slot_of(action.stage, action.microbatch);
  std::uint32_t& known = away_[slot * 2 + (returns ? 1 : 0)];
  if (known != unnamed) return known;
  const Rank home = placement_.rank_of_slot(slot);
  WorkClass work{.pass = returns ? Pass::send_loaded : Pass::send_evicted,
                 .stage = action.stage,
                 .resource = returns ? link_between(keeper, home) : link_between(home, keeper),
                 .buffer = stash_[slot],
                 .effects = {}};
  // Where it goes there is room from the start of the transfer; where it was, from its end.
  work.effects.push_back({stash_[slot], /*at_end=*/!returns, /*takes=*/returns});
  if (is_rank(keeper)) {
    work.effects.push_back({kept_buffer(slot, keeper), /*at_end=*/returns, /*takes=*/!returns});
  }
  known = add(std::move(work));
  return known;
}

void WorkClasses::keep_versions(std::uint32_t slot, std::uint32_t versions) {
  const BufferClass weights = plan_.buffers[stash_[slot]];
  for (std::uint32_t v = 1; v < versions; ++v) {
    add_buffer(BufferKind::versions, weights.stage, weights.rank);
  }
}

std::pair<std::uint32_t, std::uint32_t> WorkClasses::fused(std::uint32_t first,
                                                           std::uint32_t second) {
  const auto found = fused_.find({first, second});
  if (found != fused_.end()) return found->second;
  WorkClass one = plan_.classes[first];
  WorkClass two = plan_.classes[second];
  one.partner = second;
  two.partner = first;
  two.follows_partner = true;
  const std::pair<std::uint32_t, std::uint32_t> both{add(std::move(one)), add(std::move(two))};
  fused_.emplace(std::pair{first, second}, both);
  return both;
}

}  // namespace penstock
