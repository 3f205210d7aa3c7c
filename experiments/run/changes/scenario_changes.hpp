#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "experiments/input/scenario/scenario.hpp"
#include "experiments/run/run.hpp"
#include "schedules/registry.hpp"

namespace penstock {

/// A change of a scenario that a user can make.
struct ScenarioChange {
  std::vector<std::string> settings;       // as for --set
  std::vector<std::string> left_out = {};  // sections
  bool keeps_pipeline = false;             // offered only if ranks and microbatches stay the same

  /// "/memory/zero=2", "without /offload".
  std::string text() const;
  /// As on a command line: "--set '/memory/zero=2'". A section that is left out has no option:
  /// "leave /offload out of the file".
  std::string options() const;
};

/// What a change varies: its settings, but all cuts are alike, and chunk counts do not matter.
std::string family_of(const ScenarioChange& change);

/// Whether two changes state different keys, so that both can be made.
bool are_apart(const ScenarioChange& one, const ScenarioChange& other);
/// Both changes.
ScenarioChange both_of(ScenarioChange one, const ScenarioChange& other);

/// Which changes to list.
struct ChangeKinds {
  bool degrees = true;    // and microbatch sizes; otherwise each rank keeps its devices and batch
  bool offloads = false;  // activations in host memory
  bool codecs = false;    // which change numbers
};

/// Changes of a scenario that keep devices and global batch: cuts, recomputation, ZeRO levels,
/// overlap, packings of documents, microbatches of half and twice the size, degrees of parallelism
/// with a factor of two moved from one to another, other groups of experts, an encoder with degrees
/// of its own, chunk counts and other schedules with the same use of weights. What costs a user
/// least comes first. Rules may refuse a change; only trying it shows that. The result must belong
/// to the scenario and have finished.
std::vector<ScenarioChange> changes_of(const Scenario& scenario, const RunResult& result,
                                       const ChangeKinds& kinds = {});

// Parts of that list.

std::vector<ScenarioChange> module_changes(const Scenario& scenario, const Layout& layout);
std::vector<ScenarioChange> degree_changes(const Scenario& scenario, const Layout& layout);
std::vector<ScenarioChange> order_changes(const Scenario& scenario, const Layout& layout);

/// The most chunks on each rank that the layers can fill.
std::uint32_t most_chunks(const Layout& layout);

/// Whether a rule places this many chunks on each of some ranks.
bool takes_chunks(const ScheduleEntry& entry, std::uint32_t ranks, std::uint32_t chunks);

/// The setting that names another schedule. By name alone it would keep the present options, order
/// or policy.
std::string schedule_setting(const ScheduleEntry& entry, const Layout& layout);

}  // namespace penstock
