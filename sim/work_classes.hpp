#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "sim/extras.hpp"
#include "sim/placement.hpp"
#include "sim/plan.hpp"
#include "sim/recomputation.hpp"

namespace penstock {

/// Names the work classes, buffer classes and links of a plan while it is being lowered, each when
/// it is first needed.
class WorkClasses {
 public:
  /// Writes into `plan`. Without a backward anywhere, an activation is held only while its F runs.
  WorkClasses(const Placement& placement, bool has_backward, const Extras& extras, Plan& plan);

  /// The class of a rank's action. `crosses`: its input came over a link.
  std::uint32_t compute(const Action& action, bool crosses, Recompute recompute = Recompute::none);
  /// The class of the transfer that takes the output of `action` to stage `to`.
  std::uint32_t transfer(const Action& action, Stage to);
  /// A new class of a transfer that ends the iteration of a stage.
  std::uint32_t tail_transfer(Pass pass, Stage stage, Link link);
  /// The classes of the two parts of a fused overlap cell.
  std::pair<std::uint32_t, std::uint32_t> fused(std::uint32_t first, std::uint32_t second);

 private:
  std::uint32_t add(WorkClass work);
  std::uint32_t add_buffer(BufferKind kind, Stage stage, Rank rank);
  std::uint32_t receive_buffer(std::uint32_t slot, Stage holds, BufferKind kind);
  std::uint32_t link_between(Rank from, Rank to);
  std::vector<MemoryEffect> effects_of(const Action& action, std::uint32_t slot, bool crosses,
                                       bool remakes);
  void add_effect(std::vector<MemoryEffect>& effects, BufferKind kind, std::uint32_t slot,
                  bool at_end, bool takes) const;

  const Placement& placement_;
  bool has_backward_;
  Plan& plan_;
  std::vector<std::uint32_t> compute_;  // by slot, pass, crosses, takes what R brings back
  std::array<std::vector<std::uint32_t>, buffer_kinds> held_;  // by kind, slot; empty: none is
  std::vector<std::uint32_t> receive_;                         // by slot, gradient
  // By sending slot and direction: the slots sent to, one but for replicas, and their classes.
  std::vector<std::vector<std::pair<std::uint32_t, std::uint32_t>>> transfer_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> links_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::pair<std::uint32_t, std::uint32_t>> fused_;
};

}  // namespace penstock
