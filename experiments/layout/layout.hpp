#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "experiments/layout/batch.hpp"
#include "experiments/layout/degrees.hpp"
#include "experiments/layout/device_memory.hpp"
#include "experiments/layout/stage_coding.hpp"
#include "experiments/scenario/scenario.hpp"
#include "experiments/scenario/settle_hardware.hpp"
#include "schedules/policies/registry.hpp"
#include "schedules/registry.hpp"
#include "sim/costs/conditions.hpp"
#include "sim/model/partition.hpp"
#include "sim/order/placement.hpp"
#include "sim/order/schedule.hpp"

namespace penstock {

/// What a scenario settles to before anything is lowered: who holds which layers, who does what
/// when, on which hardware. It stands alone: nothing of it is looked up in the scenario again.
struct Layout {
  std::string source;  // the scenario's file, for error texts
  std::string name;    // of the schedule, or of the order's file
  Placement placement;
  ModelGraph model;  // with what its layers cost here
  ModelSpec spec;    // the kinds of these layers; empty where they state their times
  CellShape shape;   // what they run for
  Partition partition;
  Schedule schedule;
  Overlap overlap = Overlap::serial;
  std::uint32_t microbatches = 0;
  std::uint32_t slices = 1;          // cells that share a microbatch
  double tied_embedding_bytes = 0;   // gradient that first and last stage exchange
  std::vector<StageCoding> codings;  // by model stage; empty where nothing is encoded yet

  const ScheduleEntry* rule = nullptr;  // that made the order, if any
  // Decides the order instead; the schedule then holds only what there is to do.
  const PolicyEntry* policy = nullptr;
  ScheduleOptions options;  // of either

  Degrees degrees;
  Batch batch;
  Hardware hardware;
  bool allows_stale = false;  // rows of a profile that are suspect are used all the same
  RecomputeSection recompute;
  CodecChoice codec;  // asked for; `codings` says what it came to
  DeviceMemory memory;
  OverheadsSection overheads;
  Conditions conditions;  // but for the network and what memory there is
  Chance chance;
  std::vector<std::string> notes;  // what was taken for granted
};

/// What settling a scenario may need besides.
struct SettleOptions {
  const Catalogue* catalogue = nullptr;  // read where none is given
  bool allows_stale = false;
};

/// Settles the degrees, the hardware, the placement, the order and the partition of a scenario.
/// Throws InputError with the file that is at fault in front: the scenario or one that it names.
Layout settle(const Scenario& scenario, const SettleOptions& options = {});

/// "1f1b, 4 ranks, 8 microbatches".
std::string title_of(const Layout& layout);

}  // namespace penstock
