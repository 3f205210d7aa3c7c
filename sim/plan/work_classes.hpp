#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "sim/order/communication.hpp"
#include "sim/order/placement.hpp"
#include "sim/order/schedule.hpp"
#include "sim/plan/extras.hpp"
#include "sim/plan/plan.hpp"
#include "sim/plan/recomputation.hpp"

namespace penstock {

/// No class yet.
constexpr std::uint32_t unnamed = UINT32_MAX;

/// Names the work classes, buffer classes and links of a plan during lowering, each at first use.
class WorkClasses {
 public:
  /// Writes into `plan`. An activation of a stage without backwards is held only while its F runs.
  WorkClasses(const Placement& placement, std::vector<bool> has_backward, const Extras& extras,
              Plan& plan);

  /// The class of a rank's action. `crosses`: its input came over a link.
  std::uint32_t compute(const Action& action, bool crosses, Recompute recompute = Recompute::none) {
    const std::uint32_t slot = placement_.slot_of(action.stage, action.microbatch);
    const std::size_t pass = static_cast<std::size_t>(action.pass);
    const bool within = recompute == Recompute::within;
    const bool keeps = keeps_ && action.pass == Pass::forward && recompute == Recompute::none;
    const std::size_t form = (crosses ? 1 : 0) + (within || keeps ? 2 : 0);
    std::uint32_t& known = compute_[(slot * pass_count + pass) * 4 + form];
    if (known == unnamed) known = add_compute(action, slot, crosses, within, keeps);
    return known;
  }
  /// The class of the transfer of `action`'s output to stage `to`.
  std::uint32_t transfer(const Action& action, Stage to) {
    const std::uint32_t sender = placement_.slot_of(action.stage, action.microbatch);
    const std::uint32_t receiver = placement_.slot_of(to, action.microbatch);
    for (const auto& [slot, work] : transfer_[sender * 2 + (gives_gradient(action.pass) ? 1 : 0)]) {
      if (slot == receiver) return work;
    }
    return add_transfer(action, to, sender, receiver);
  }
  /// The class of an action with these RECV_F and RESHARDs behind it: it ends with the memory of
  /// activations taken and that of weights freed.
  std::uint32_t with_behind(std::uint32_t work, Rank rank, std::span<const CommCell> cells);
  /// The class of a transfer whose memory was taken when its RECV was issued.
  std::uint32_t into_held(std::uint32_t transfer);
  /// The class of the transfer of an evicted activation to its keeper, or of a loaded one back.
  std::uint32_t stash_transfer(const Action& action, Rank keeper);
  /// The class of a rank's UNSHARD. Weights that no action uses count as no memory.
  std::uint32_t gather(Rank rank, Stage stage, bool used);
  /// Adds buffers for further weight versions of a slot.
  void keep_versions(std::uint32_t slot, std::uint32_t versions);
  /// A new class of a transfer in the tail of a stage.
  std::uint32_t tail_transfer(Pass pass, Stage stage, Link link);
  /// The classes of the two parts of a fused overlap cell.
  std::pair<std::uint32_t, std::uint32_t> fused(std::uint32_t first, std::uint32_t second);

 private:
  std::uint32_t add(WorkClass work);
  std::uint32_t add_compute(const Action& action, std::uint32_t slot, bool crosses, bool within,
                            bool keeps);
  std::uint32_t add_transfer(const Action& action, Stage to, std::uint32_t sender,
                             std::uint32_t receiver);
  std::uint32_t add_buffer(BufferKind kind, Stage stage, Rank rank);
  std::uint32_t receive_buffer(std::uint32_t slot, Stage holds, BufferKind kind);
  std::uint32_t stash_of(std::uint32_t slot) const {
    return held_[static_cast<std::size_t>(BufferKind::stash)][slot];
  }
  std::uint32_t slot_on(Rank rank, Stage stage) const;
  std::uint32_t kept_buffer(std::uint32_t slot, Rank keeper);
  std::uint32_t link_between(Rank from, Rank to);
  std::vector<MemoryEffect> effects_of(const Action& action, std::uint32_t slot, bool crosses,
                                       bool remakes);
  void add_effect(std::vector<MemoryEffect>& effects, BufferKind kind, std::uint32_t slot,
                  bool at_end, bool takes) const;

  const Placement& placement_;
  std::vector<bool> has_backward_;  // by stage
  bool keeps_;                      // F allocates what R would restore, when there is no R
  Plan& plan_;
  std::vector<std::uint32_t> compute_;  // by slot, pass, crosses, allocates recomputed memory
  std::array<std::vector<std::uint32_t>, buffer_kinds> held_;  // by kind, slot; empty: none
  std::vector<std::uint32_t> receive_;                         // by slot, gradient
  std::vector<std::uint32_t> kept_;  // by slot: its activations kept by another rank
  std::vector<std::uint32_t> away_;  // by slot, and whether the activation comes back
  // By sending slot and direction: the receiving slots (several only with replicas) and their
  // classes.
  std::vector<std::vector<std::pair<std::uint32_t, std::uint32_t>>> transfer_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> links_;
  // By class and what happens to buffers behind it; of a transfer, nothing.
  std::map<std::pair<std::uint32_t, std::vector<std::pair<std::uint32_t, bool>>>, std::uint32_t>
      posted_;
  std::map<std::pair<std::uint32_t, bool>, std::uint32_t> gathers_;  // by slot
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::pair<std::uint32_t, std::uint32_t>> fused_;
};

/// The stage whose output an action reads, if it is another one.
std::optional<Stage> source_of(const Placement& placement, const Action& action);

/// The stage that reads an action's output, if any.
std::optional<Stage> reader_of(const Placement& placement, const Action& action);

/// Where a stage's inputs and outputs of one direction are in the tables of outputs, and who reads
/// them.
struct HandoverEnds {
  static constexpr std::size_t nothing = SIZE_MAX;

  std::size_t reads = nothing;
  std::size_t puts_out = nothing;
  Stage reader{};
  // Without replicas at either end every output takes the same way.
  bool one_way = false;
  Rank target{};
  bool exchanged = false;            // within its rank, by a transfer all the same
  std::uint32_t transfer = unnamed;  // its class, once named
};

/// The ends of all stages at `ends_of`. Outputs are in rows by stage, activations first; within a
/// row by microbatch, of which there are `columns`. `exchanges`: those of the plan's extras.
std::vector<HandoverEnds> find_stage_ends(const Placement& placement, std::size_t columns,
                                          const std::vector<bool>& exchanges);

/// The place of an action's ends; `nothing` for an action that neither reads nor puts out what is
/// handed from stage to stage.
inline std::size_t ends_of(const Action& action) {
  const bool gradient = gives_gradient(action.pass);
  if (!gradient && action.pass != Pass::forward) return HandoverEnds::nothing;
  return std::size_t{2} * index(action.stage) + (gradient ? 1 : 0);
}

/// Whether an action of a stage may hand its output to another rank, or exchanges it. Replicas of
/// the two stages may meet on one rank for some microbatches.
bool may_send(const Placement& placement, Stage stage, Pass pass,
              const std::vector<bool>& exchanges);

}  // namespace penstock
