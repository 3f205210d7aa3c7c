#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "experiments/input/long_work/memo.hpp"
#include "experiments/input/orders/memory_need.hpp"
#include "experiments/input/scenario/batch_section.hpp"
#include "experiments/input/scenario/scenario.hpp"
#include "experiments/input/scenario/sections.hpp"
#include "experiments/input/scenario/settle_hardware.hpp"
#include "experiments/run/layout/degrees.hpp"
#include "experiments/run/layout/device_memory.hpp"
#include "experiments/run/layout/stage_coding.hpp"
#include "hardware_models/spec/machine.hpp"
#include "schedules/policies/registry.hpp"
#include "schedules/registry.hpp"
#include "sim/costs/priced_plan.hpp"
#include "sim/model/partition.hpp"
#include "sim/order/communication.hpp"
#include "sim/order/placement.hpp"
#include "sim/order/schedule.hpp"

namespace penstock {

/// The part of a model before the others that has degrees of its own, such as an encoder of
/// pictures. Its stages are the first of the model.
struct LayoutModule {
  std::string name;
  Degrees degrees;  // data: of the whole layout
  std::uint32_t stages = 1;
  bool shares_devices = false;  // each of its replicas is on a rank of the other stages
  bool frozen = false;          // it has no backward
  // Of a microbatch, what one of its groups works on: groups of one rank share it (below 1), or a
  // replica takes those of several pipelines together (above 1).
  double share = 1;
  std::uint32_t ranks_in_turn = 1;  // that hold one of its stages, and take microbatches in turn

  /// Ranks of the plan that are its alone, and the devices of each with those of its replicas.
  std::uint32_t own_ranks() const { return shares_devices ? 0 : stages * ranks_in_turn; }
  std::uint64_t devices_per_own_rank() const {
    return std::uint64_t{degrees.tensor} * degrees.data / ranks_in_turn;
  }
};

struct LayerInputs;
struct LayoutParts;
using LayerGraphs = Memo<LayerInputs, const std::vector<ModelGraph>>;

/// A scenario settled before lowering: which rank holds which layers, which action runs when, on
/// which hardware. It is complete; nothing refers back to the scenario.
struct Layout {
  std::string source;  // the scenario's file, for error texts
  std::string name;    // of the schedule, or of the order's file
  Placement placement;
  ModelGraph model;  // with its costs in this layout
  ModelSpec spec;    // kinds of layers; empty where layers state their times
  CellShape shape;   // sizes of the cells
  Partition partition;
  Schedule schedule;
  Overlap overlap = Overlap::serial;
  Communication communication;  // of the schedule, where it is written
  std::uint32_t microbatches = 0;
  std::uint32_t slices = 1;          // cells per microbatch
  double tied_embedding_bytes = 0;   // gradient exchanged by first and last stage
  std::vector<StageCoding> codings;  // by model stage; empty before encoding

  const ScheduleEntry* rule = nullptr;  // rule that made the order, if any
  // Decides the order at run time; the schedule then lists only the actions.
  const PolicyEntry* policy = nullptr;
  ScheduleOptions options;  // of the rule or policy

  Degrees degrees;  // of all but `module`
  std::optional<LayoutModule> module;
  Batch batch;
  Hardware hardware;
  bool allows_stale = false;  // also uses suspect rows of a profile
  RecomputeSection recompute;
  std::uint32_t offloaded_layers = 0;  // the first of each stage
  CodecChoice codec;                   // as requested; `codings` has the effect
  DeviceMemory memory;
  OverheadsSection overheads;
  std::optional<BatchSection> documents;     // where microbatches differ; `shape` is a full one
  std::shared_ptr<const LayoutParts> parts;  // with documents and `module`: to make `model` again
  Conditions conditions;                     // except network and memory capacity
  Chance chance;
  std::vector<std::string> notes;  // assumptions
};

/// A layout with a module before its parts were joined, each with an order that has its passes
/// once.
struct LayoutParts {
  Layout module;
  Layout others;
};

/// Options for settling a scenario.
struct SettleOptions {
  const Catalogue* catalogue = nullptr;  // nullptr: read it
  bool allows_stale = false;
  // What other layouts made, or nullptr. The machines are of `catalogue`.
  MachinesByName* machines = nullptr;
  LayerGraphs* layers = nullptr;
  std::shared_ptr<Clusters> clusters = nullptr;
  double bytes_per_cell = CellBytes::run;  // that whoever settles it will need
  const LayoutModule* module = nullptr;    // that comes in front of the layers, or nullptr
};

/// Settles the degrees, hardware, placement, order and partition of a scenario. Throws InputError
/// that starts with the faulty file: the scenario or one that it names. Throws OverBudget before it
/// makes an order that takes too much memory.
Layout settle(const Scenario& scenario, const SettleOptions& options = {});

/// Throws InputError that starts with the layout's file for an order with a fault
/// (`find_order_fault`), for stages that are not the whole model (`check_partition`), and for
/// either that does not go with the other. `settle` makes no such layout.
void check_layout(const Layout& layout);

/// Judges the peaks of its ranks.
MemoryJudge judge_of(const Layout& layout);

/// "1f1b, 4 ranks, 8 microbatches".
std::string title_of(const Layout& layout);

}  // namespace penstock
