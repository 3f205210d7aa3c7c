#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

#include "experiments/input/catalogue/catalogue.hpp"
#include "experiments/input/scenario/scenario.hpp"
#include "hardware_models/links/wiring.hpp"

namespace penstock {

/// What a step spends its time on.
enum class StepPart : std::uint8_t {
  compute,  // layers and the update, on the mean rank
  tensor,   // traffic of tensor groups
  context,
  experts,
  sums,   // of replicas, and gathers of sharded weights
  sends,  // between stages
  recomputation,
  bubble,  // idle time of the mean rank without any traffic and recomputation
};
constexpr std::size_t step_parts = 8;

/// "compute", "tensor traffic" …
std::string_view text(StepPart part);

/// Microseconds of each part; they add up to the step time.
using StepSplit = std::array<double, step_parts>;

/// Takes sums, sends, traffic of experts, context and tensor groups, and recomputation away, one
/// after the other, and simulates what is left: each part is what its removal saves. Layouts with
/// the same `clusters` share the links of their machine. Throws InputError for a layout that cannot
/// run.
StepSplit split_step(const Scenario& scenario, const Catalogue& catalogue,
                     std::shared_ptr<Clusters> clusters);

}  // namespace penstock
