#include "sim/plan/work_classes.hpp"

#include <algorithm>

namespace penstock {

WorkClasses::WorkClasses(const Placement& placement, std::vector<bool> has_backward,
                         const Extras& extras, Plan& plan)
    : placement_(placement),
      has_backward_(std::move(has_backward)),
      keeps_(extras.has(BufferKind::recomputed)),
      plan_(plan),
      compute_(std::size_t{placement.slots()} * pass_count * 4, unnamed),
      receive_(std::size_t{placement.slots()} * 2, unnamed),
      kept_(placement.slots(), unnamed),
      away_(std::size_t{placement.slots()} * 2, unnamed),
      transfer_(std::size_t{placement.slots()} * 2) {
  for (Stage stage : placement.stages()) {
    for (Microbatch replica : Numbers<Microbatch>(placement.replicas(stage))) {
      for (std::uint8_t k = 0; k < buffer_kinds; ++k) {
        const BufferKind kind{k};
        const bool usual = kind == BufferKind::parameters || kind == BufferKind::stash;
        if ((!usual && !extras.has(kind)) || is_of_rank(kind)) continue;
        held_[k].push_back(add_buffer(kind, stage, placement.rank_of(stage, replica)));
      }
    }
  }
  if (!extras.has(BufferKind::context)) return;
  for (Rank rank : Numbers<Rank>(placement.ranks())) {
    add_buffer(BufferKind::context, Stage{0}, rank);
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

std::uint32_t WorkClasses::add_compute(const Action& action, std::uint32_t slot, bool crosses,
                                       bool within, bool keeps) {
  const bool takes = within || keeps || action.pass == Pass::recompute;
  return add({.pass = action.pass,
              .stage = action.stage,
              .resource = index(placement_.rank_of_slot(slot)),
              .recomputes = within,
              .effects = effects_of(action, slot, crosses, takes)});
}

/// An effect on a buffer of a slot, if the plan has buffers of that kind.
void WorkClasses::add_effect(std::vector<MemoryEffect>& effects, BufferKind kind,
                             std::uint32_t slot, bool at_end, bool takes) const {
  const std::vector<std::uint32_t>& held = held_[static_cast<std::size_t>(kind)];
  if (!held.empty()) effects.push_back({held[slot], at_end, takes});
}

/// At either end buffers are freed before others are allocated. `remakes`: recomputed memory is
/// allocated at the start of this action.
std::vector<MemoryEffect> WorkClasses::effects_of(const Action& action, std::uint32_t slot,
                                                  bool crosses, bool remakes) {
  constexpr bool at_start = false, at_end = true, takes = true, gives_back = false;
  const bool has_backward = has_backward_[index(action.stage)];
  std::vector<MemoryEffect> effects;
  if (action.pass == Pass::forward) {
    if (crosses) {
      const std::uint32_t received =
          receive_buffer(slot, *placement_.before(action.stage), BufferKind::receive);
      effects.push_back({received, at_start, gives_back});
    }
    add_effect(effects, BufferKind::stash, slot, at_start, takes);
    add_effect(effects, BufferKind::input_stash, slot, at_start, takes);
  }
  if (remakes) add_effect(effects, BufferKind::recomputed, slot, at_start, takes);
  add_effect(effects, BufferKind::workspace, slot, at_start, takes);
  add_effect(effects, BufferKind::workspace, slot, at_end, gives_back);
  if (has_backward ? ends_activation(action.pass) : action.pass == Pass::forward) {
    add_effect(effects, BufferKind::stash, slot, at_end, gives_back);
    add_effect(effects, BufferKind::recomputed, slot, at_end, gives_back);
  }
  if (has_backward ? gives_gradient(action.pass) : action.pass == Pass::forward) {
    add_effect(effects, BufferKind::input_stash, slot, at_end, gives_back);
  }
  if (action.pass == Pass::backward_input || action.pass == Pass::backward_weight) {
    add_effect(effects, BufferKind::pending_weight, slot, at_end,
               action.pass == Pass::backward_input);
  }
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

std::uint32_t WorkClasses::add_transfer(const Action& action, Stage to, std::uint32_t sender,
                                        std::uint32_t receiver) {
  const bool gradient = gives_gradient(action.pass);
  // A gradient has the size of its activation, the output of the receiving stage.
  const std::uint32_t buffer =
      receive_buffer(receiver, gradient ? to : action.stage,
                     gradient ? BufferKind::gradient : BufferKind::receive);
  WorkClass work{
      .pass = gradient ? Pass::send_gradient : Pass::send_activation,
      .stage = action.stage,
      .resource = link_between(placement_.rank_of_slot(sender), placement_.rank_of_slot(receiver)),
      .buffer = buffer,
      .effects = {}};
  // Allocated before it is received into, as frameworks do.
  if (!gradient) work.effects.push_back({buffer, /*at_end=*/false, /*takes=*/true});
  const std::uint32_t named = add(std::move(work));
  transfer_[sender * 2 + (gradient ? 1 : 0)].emplace_back(receiver, named);
  return named;
}

/// The slot of a stage that a rank holds.
std::uint32_t WorkClasses::slot_on(Rank rank, Stage stage) const {
  Microbatch replica{0};
  while (placement_.rank_of(stage, replica) != rank) replica = Microbatch{index(replica) + 1};
  return placement_.slot_of(stage, replica);
}

std::uint32_t WorkClasses::with_behind(std::uint32_t work, Rank rank,
                                       std::span<const CommCell> cells) {
  std::vector<std::pair<std::uint32_t, bool>> buffers;  // and whether they are taken
  for (const CommCell& cell : cells) {
    const bool takes = cell.comm == Comm::receive_forward;
    const std::uint32_t slot =
        takes ? placement_.slot_of(cell.stage, cell.microbatch) : slot_on(rank, cell.stage);
    buffers.emplace_back(
        takes ? receive_buffer(slot, *placement_.before(cell.stage), BufferKind::receive)
              : held_[static_cast<std::size_t>(BufferKind::gathered)][slot],
        takes);
  }
  std::ranges::sort(buffers);
  const auto [known, is_new] = posted_.try_emplace({work, buffers}, unnamed);
  if (!is_new) return known->second;
  WorkClass changed = plan_.classes[work];
  for (const auto& [buffer, takes] : buffers) {
    const MemoryEffect effect{buffer, /*at_end=*/true, takes};
    changed.effects.insert(takes ? changed.effects.end() : changed.effects.begin(), effect);
  }
  return known->second = add(std::move(changed));
}

std::uint32_t WorkClasses::gather(Rank rank, Stage stage, bool used) {
  const std::uint32_t slot = slot_on(rank, stage);
  const auto [known, is_new] = gathers_.try_emplace({slot, used}, unnamed);
  if (!is_new) return known->second;
  const std::uint32_t work = tail_transfer(Pass::gather_weights, stage, {rank, data_replicas});
  std::vector<MemoryEffect>& effects = plan_.classes[work].effects;
  if (used) add_effect(effects, BufferKind::gathered, slot, /*at_end=*/false, /*takes=*/true);
  return known->second = work;
}

std::uint32_t WorkClasses::into_held(std::uint32_t transfer) {
  const auto [known, is_new] = posted_.try_emplace({transfer, {}}, unnamed);
  if (!is_new) return known->second;
  WorkClass held = plan_.classes[transfer];
  held.effects.clear();
  return known->second = add(std::move(held));
}

std::uint32_t WorkClasses::kept_buffer(std::uint32_t slot, Rank keeper) {
  std::uint32_t& known = kept_[slot];
  if (known == unnamed)
    known = add_buffer(BufferKind::stash, plan_.buffers[stash_of(slot)].stage, keeper);
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
                 .buffer = stash_of(slot),
                 .effects = {}};
  // Memory at the destination is allocated when the transfer starts; at the source it is freed when
  // the transfer ends.
  work.effects.push_back({stash_of(slot), /*at_end=*/!returns, /*takes=*/returns});
  if (is_rank(keeper)) {
    work.effects.push_back({kept_buffer(slot, keeper), /*at_end=*/returns, /*takes=*/!returns});
  }
  known = add(std::move(work));
  return known;
}

void WorkClasses::keep_versions(std::uint32_t slot, std::uint32_t versions) {
  const BufferClass weights = plan_.buffers[stash_of(slot)];
  for (std::uint32_t v = 1; v < versions; ++v) {
    add_buffer(BufferKind::versions, weights.stage, weights.rank);
  }
}

std::uint32_t WorkClasses::tail_transfer(Pass pass, Stage stage, Link link) {
  const Rank holder = link.to == data_replicas ? link.from : link.to;
  return add({.pass = pass,
              .stage = stage,
              .resource = link_between(link.from, link.to),
              .buffer = add_buffer(BufferKind::gradient, stage, holder),
              .effects = {}});
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

std::optional<Stage> source_of(const Placement& placement, const Action& action) {
  if (action.pass == Pass::forward) return placement.before(action.stage);
  if (gives_gradient(action.pass)) return placement.after(action.stage);
  return std::nullopt;
}

std::optional<Stage> reader_of(const Placement& placement, const Action& action) {
  if (action.pass == Pass::forward) return placement.after(action.stage);
  if (gives_gradient(action.pass)) return placement.before(action.stage);
  return std::nullopt;
}

namespace {

/// Whether what a stage hands to the next one, or the next one hands back, is exchanged.
bool exchanged_between(const Placement& placement, Stage one, Stage other,
                       const std::vector<bool>& exchanges) {
  const std::uint32_t lower = std::min(placement.position(one), placement.position(other));
  return lower < exchanges.size() && exchanges[lower];
}

}  // namespace

std::vector<HandoverEnds> find_stage_ends(const Placement& placement, std::size_t columns,
                                          const std::vector<bool>& exchanges) {
  std::vector<HandoverEnds> ends;
  for (Stage stage : placement.stages()) {
    for (const bool gradient : {false, true}) {
      const Pass pass = gradient ? Pass::backward : Pass::forward;
      const Action action(pass, stage, Microbatch{0});
      const auto row = [&](Stage of) {
        return (index(of) + std::size_t{gradient ? placement.stage_count() : 0}) * columns;
      };
      HandoverEnds& found = ends.emplace_back();
      if (const auto from = source_of(placement, action)) found.reads = row(*from);
      const auto to = reader_of(placement, action);
      if (!to) continue;
      found.puts_out = row(stage);
      found.reader = *to;
      found.one_way = placement.replicas(stage) == 1 && placement.replicas(*to) == 1;
      found.target = placement.rank_of(*to);
      found.exchanged = exchanged_between(placement, stage, *to, exchanges);
    }
  }
  return ends;
}

bool may_send(const Placement& placement, Stage stage, Pass pass,
              const std::vector<bool>& exchanges) {
  if (moves_stash(pass)) return true;
  const auto to = reader_of(placement, {pass, stage, Microbatch{0}});
  if (!to) return false;
  if (exchanged_between(placement, stage, *to, exchanges)) return true;
  const bool alone = placement.replicas(stage) == 1 && placement.replicas(*to) == 1;
  return !alone || placement.rank_of(stage) != placement.rank_of(*to);
}

}  // namespace penstock
