#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "experiments/plan/planner/space/layout_choice.hpp"
#include "experiments/plan/planner/space/layout_rules.hpp"
#include "experiments/plan/planner/space/restrictions.hpp"
#include "experiments/plan/planner/space/training_task.hpp"

namespace penstock {

struct Framework;

/// A rule, and how many layouts it excludes.
struct Exclusion {
  std::string rule;
  std::uint64_t layouts = 0;
};

/// Adds the layouts that a rule excludes to its count.
void add_excluded(std::string_view rule, std::uint64_t layouts, std::vector<Exclusion>& all);

/// All layouts of a task: each combination of degrees with each option that is legal for it.
struct LayoutSpace {
  std::vector<LayoutChoice> degrees;  // legal ones, with the microbatches set
  std::vector<RecomputeChoice> recomputations;
  std::vector<OrderChoice> orders;
  std::vector<std::uint32_t> zeros;
  std::vector<std::optional<CodecSpec>> links;
  std::vector<std::string> partitions;
  // Cuts that follow the order, tried on the best of each listed family alone; without other
  // partitions they are among these.
  std::vector<std::string> refinements;
  // Where a model has one: its first layers, tried apart from the others on the best layouts.
  std::string module;
  // Codecs of kept activations, and how many of these a rank keeps on its device. Where the first
  // is none, the others are only for layouts that do not fit without: they cost time and save
  // memory.
  std::vector<std::optional<CodecSpec>> stashes;
  std::vector<std::optional<std::uint32_t>> offloads;

  std::vector<Exclusion> excluded;
  std::vector<Exclusion> dropped;  // options, by rules of a framework: of each of `degrees`
  std::uint64_t legal = 0;         // layouts, without those that others give way to for memory
};

/// How many of `stashes` or `offloads`, from the first, all layouts are tried with.
template <class Value>
std::size_t tried_at_once(const std::vector<std::optional<Value>>& values) {
  return values.empty() || values.front() ? values.size() : 1;
}

struct SpaceOptions {
  Restrictions only;
  bool lossy = false;     // codecs too
  bool offloads = false;  // offloading too
  std::vector<std::string> partitions = {"even", "balanced", "simulated"};
};

/// What a user asks of the layouts.
struct SpaceRequest {
  std::vector<std::string> only;  // "/pointer=value,…"
  bool lossy = false;
  bool offloads = false;
  std::vector<std::string> partitions;  // empty: those of the framework, or else the default
};

/// `framework` may be null. Throws UsageError for what cannot be asked, or not of the framework.
SpaceOptions space_options(const SpaceRequest& request, const Framework* framework);

/// Throws UsageError for codecs and offloading that a framework does not have.
void refuse_codecs(const Framework& framework, const SpaceOptions& options);

/// Empty if the restrictions leave no legal layout.
LayoutSpace space_of(const TrainingTask& task, const SpaceOptions& options);

/// Whether norms and dropout may be sharded or not under these degrees, the sharded one first.
std::vector<bool> sequence_choices(const TrainingTask& task, const LayoutChoice& degrees,
                                   const Restrictions& only);
/// The layout of these choices; `degrees` has the degrees and the batch.
LayoutChoice layout_of(const TrainingTask& task, LayoutChoice degrees, bool sequence,
                       const RecomputeChoice& recompute, const std::string& partition,
                       const OrderChoice& order, std::uint32_t zero,
                       const std::optional<CodecSpec>& link);
/// Whether a rank of an order ever has more activations than it keeps on its device.
bool goes_with_offload(const std::optional<std::uint32_t>& keep, const LayoutChoice& degrees,
                       const OrderChoice& order);
/// Layouts that differ in link codec, or in how activations are kept, and are all tried.
std::uint64_t links_of(const LayoutSpace& space, const LayoutChoice& degrees);
std::uint64_t storages_of(const LayoutSpace& space, const LayoutChoice& degrees,
                          const OrderChoice& order);
/// Whether layouts of an order take a module that is not cut with the others.
bool goes_with_module(const ScheduleEntry& rule);
/// The places that a space has for the module of a model, beside a layout of the others.
std::vector<ModuleChoice> module_choices(const LayoutSpace& space, const LayoutChoice& layout);
/// The places of a module on this many devices of its own, beside a layout of the other layers.
std::vector<ModuleChoice> own_device_choices(const std::string& module, std::uint32_t devices,
                                             const LayoutChoice& layout);
/// All divisors of a number, ascending.
std::vector<std::uint32_t> divisors(std::uint32_t number);

/// Why a task has no legal layout: the restriction that leaves none and the values that there are,
/// restrictions that exclude each other, or the rule that excludes most.
std::string why_no_layout(const TrainingTask& task, const SpaceOptions& options);

}  // namespace penstock
