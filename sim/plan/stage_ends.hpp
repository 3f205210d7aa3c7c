#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "sim/order/placement.hpp"
#include "sim/order/schedule.hpp"
#include "sim/plan/work_classes.hpp"

namespace penstock {

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
  std::uint32_t transfer = unnamed;  // its class, once named
};

/// The ends of all stages at `ends_of`. Outputs are in rows by stage, activations first; within a
/// row by microbatch, of which there are `columns`.
std::vector<HandoverEnds> find_stage_ends(const Placement& placement, std::size_t columns);

/// The place of an action's ends; `nothing` for an action that neither reads nor puts out what is
/// handed from stage to stage.
inline std::size_t ends_of(const Action& action) {
  const bool gradient = gives_gradient(action.pass);
  if (!gradient && action.pass != Pass::forward) return HandoverEnds::nothing;
  return std::size_t{2} * index(action.stage) + (gradient ? 1 : 0);
}

/// Whether an action of a stage may hand its output to another rank. Replicas of the two stages may
/// meet on one rank for some microbatches.
bool may_send(const Placement& placement, Stage stage, Pass pass);

}  // namespace penstock
