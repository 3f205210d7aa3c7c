#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "experiments/plan/planner/space/layout_choice.hpp"
#include "experiments/plan/planner/space/restrictions.hpp"
#include "experiments/plan/planner/space/training_task.hpp"

namespace penstock {

struct Framework;

struct RecomputeChoice {
  std::string mode;
  bool stages = false;                   // whole stages, not layers
  std::vector<std::string> operators{};  // of `selective`; empty: as the scenario states
  // The first layers of each stage, of `full`: so many, or quarters of them; 0: all.
  std::uint32_t layers = 0;
  std::uint32_t quarters = 0;

  bool takes_some_layers() const { return layers + quarters > 0; }
};

/// A rule, and how many layouts it excludes.
struct Exclusion {
  std::string rule;
  std::uint64_t layouts = 0;
};

/// All layouts of a task: each combination of degrees with each option that is legal for it.
struct LayoutSpace {
  std::vector<LayoutChoice> degrees;  // legal ones, with the microbatches set
  std::vector<RecomputeChoice> recomputations;
  std::vector<OrderChoice> orders;
  std::vector<std::uint32_t> zeros;
  std::vector<std::optional<CodecSpec>> links;
  std::vector<std::string> partitions;
  // Only for layouts that do not fit without: they cost time and save memory.
  std::vector<CodecSpec> stashes;
  std::vector<std::uint32_t> offloads;  // activations that a rank keeps

  std::vector<Exclusion> excluded;
  std::vector<Exclusion> dropped;  // options, by rules of a framework: of each of `degrees`
  std::uint64_t legal = 0;         // layouts, without those of `stashes` and `offloads`
};

/// The rule that groups of experts break.
constexpr const char* no_such_experts = "expert degree does not divide the experts";

struct SpaceOptions {
  Restrictions only;
  bool lossy = false;     // codecs too
  bool offloads = false;  // offloading too
  std::vector<std::string> partitions = {"even", "balanced"};
};

/// Throws UsageError for codecs and offloading, which no framework has in this form.
void refuse_codecs(const Framework& framework, const SpaceOptions& options);

/// Empty if the restrictions leave no legal layout.
LayoutSpace space_of(const TrainingTask& task, const SpaceOptions& options);

/// Whether norms and dropout may be sharded or not under these degrees, the sharded one first.
std::vector<bool> sequence_choices(const TrainingTask& task, const LayoutChoice& degrees,
                                   const Restrictions& only);
/// The rule that excludes an order under these degrees; nullptr if it is legal.
const char* why_no_order(const TrainingTask& task, const LayoutChoice& degrees,
                         const OrderChoice& order);
/// The rule that excludes a ZeRO level under these degrees; nullptr if it is legal.
const char* why_no_zero(const TrainingTask& task, const LayoutChoice& degrees,
                        const OrderChoice& order, std::uint32_t zero);
/// Whether a ZeRO level is legal.
bool takes_zero(const TrainingTask& task, const LayoutChoice& degrees, const OrderChoice& order,
                std::uint32_t zero);

/// The layout of these choices; `degrees` has the degrees and the batch.
LayoutChoice layout_of(const TrainingTask& task, LayoutChoice degrees, bool sequence,
                       const RecomputeChoice& recompute, const std::string& partition,
                       const OrderChoice& order, std::uint32_t zero,
                       const std::optional<CodecSpec>& link);
/// The first layers of each stage that `full` recomputes; 0: all.
std::uint32_t recomputed_layers(const TrainingTask& task, const LayoutChoice& degrees,
                                const OrderChoice& order, const RecomputeChoice& recompute);
/// The rule that excludes a recomputation; nullptr if it is legal.
const char* why_no_recomputation(const TrainingTask& task, const LayoutChoice& degrees,
                                 const OrderChoice& order, const RecomputeChoice& recompute);

/// Per replica. More would be slow to simulate and change little.
constexpr std::uint32_t most_replica_microbatches = 16'384;

/// All divisors of a number, ascending.
std::vector<std::uint32_t> divisors(std::uint32_t number);

/// Sets the microbatches of a layout for its share of the batch. False if the batch does not
/// divide, or into too many.
bool share_batch(const TrainingTask& task, LayoutChoice& choice);

/// The rule that excludes the tensor degree of a layout; nullptr if it is legal.
const char* why_no_tensor(const TrainingTask& task, std::uint32_t tensor);
/// The rule that excludes the degrees of a layout whose product is right; nullptr if they are
/// legal. Sets the microbatches.
const char* why_no_degrees(const TrainingTask& task, LayoutChoice& choice);

/// Why a task has no legal layout: the restriction that leaves none and the values that there are,
/// restrictions that exclude each other, or the rule that excludes most.
std::string why_no_layout(const TrainingTask& task, const SpaceOptions& options);

}  // namespace penstock
