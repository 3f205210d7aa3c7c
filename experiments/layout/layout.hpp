#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "experiments/layout/stage_coding.hpp"
#include "experiments/scenario/scenario.hpp"
#include "schedules/policies/registry.hpp"
#include "sim/model/partition.hpp"
#include "sim/order/placement.hpp"
#include "sim/order/schedule.hpp"

namespace penstock {

/// What a scenario comes to before anything is lowered: who holds which layers, and who does what
/// when.
struct Layout {
  std::string name;  // of the schedule, or of the order's file
  Placement placement;
  ModelGraph model;  // with what its layers cost here
  Partition partition;
  Schedule schedule;
  std::uint32_t microbatches = 0;
  std::uint32_t slices = 1;          // cells that share a microbatch
  double tied_embedding_bytes = 0;   // gradient that first and last stage exchange
  std::vector<StageCoding> codings;  // by model stage; empty where nothing is to be encoded

  const PolicyEntry* policy = nullptr;  // decides the order; the schedule tells only what there is
  ScheduleOptions policy_options;
};

/// Settles the degrees, the placement, the order and the partition of a scenario. Throws InputError
/// with the file that is at fault in front: the scenario or its order.
Layout settle(const Scenario& scenario);

/// "1f1b, 4 ranks, 8 microbatches".
std::string title_of(const Layout& layout);

}  // namespace penstock
