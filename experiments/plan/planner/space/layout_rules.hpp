#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "experiments/plan/planner/space/layout_choice.hpp"
#include "experiments/plan/planner/space/training_task.hpp"

namespace penstock {

/// What layers recompute or offload instead of keeping it.
struct RecomputeChoice {
  std::string mode;
  bool stages = false;                   // whole stages, not layers
  std::vector<std::string> operators{};  // of `selective`; empty: as the scenario states
  // Of `full`, the first layers of each stage: their number, or quarters of them; 0: all.
  std::uint32_t layers = 0;
  std::uint32_t quarters = 0;
  bool offloads = false;  // these layers, instead of recomputing them

  bool takes_some_layers() const { return layers + quarters > 0; }
};

/// The rule that groups of experts break.
constexpr const char* no_such_experts = "expert degree does not divide the experts";

/// The rule that excludes an order under these degrees; nullptr if it is legal.
const char* why_no_order(const TrainingTask& task, const LayoutChoice& degrees,
                         const OrderChoice& order);
/// The rule that excludes a ZeRO level under these degrees; nullptr if it is legal.
const char* why_no_zero(const TrainingTask& task, const LayoutChoice& degrees,
                        const OrderChoice& order, std::uint32_t zero);
/// Whether a ZeRO level is legal.
bool takes_zero(const TrainingTask& task, const LayoutChoice& degrees, const OrderChoice& order,
                std::uint32_t zero);

/// The first layers of each stage that are recomputed or offloaded; 0: as the mode says.
std::uint32_t some_layers(const TrainingTask& task, const LayoutChoice& degrees,
                          const OrderChoice& order, const RecomputeChoice& recompute);
/// The rule that excludes a recomputation or an offload; nullptr if it is legal.
const char* why_no_recomputation(const TrainingTask& task, const LayoutChoice& degrees,
                                 const OrderChoice& order, const RecomputeChoice& recompute);

/// Per replica. More would be slow to simulate and change little.
constexpr std::uint32_t most_replica_microbatches = 16'384;

/// The rule that excludes the degrees of a layout whose product is right; nullptr if they are
/// legal. Sets the microbatches.
const char* why_no_degrees(const TrainingTask& task, LayoutChoice& choice);

}  // namespace penstock
