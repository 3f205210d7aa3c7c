#pragma once

#include <span>
#include <string_view>

#include "schedules/partitioners/problem/cut_problem.hpp"

namespace penstock {

/// A way to cut a model into stages: one .cpp in this folder.
struct PartitionerEntry {
  std::string_view name;
  std::string_view summary;
  /// Cuts into `stages` stages, exactly or at most. Throws InputError when there are too few layers
  /// or no cut meets the limits.
  Cut (*cut)(const CutProblem& problem);
  std::string_view settings = "";  // it reads: "transfers, evaluations, seed"
  bool needs_costs = true;         // layers need their times
  bool follows_order = false;      // the cut, or what fits, depends on the order of actions
  bool simulates = false;          // takes a simulation for each of many cuts
  bool keeps_capacity = false;     // of each stage
  bool spreads_devices = false;    // over stages, as replicas
};

/// All partitioners, by name.
std::span<const PartitionerEntry* const> partitioner_entries();

}  // namespace penstock
