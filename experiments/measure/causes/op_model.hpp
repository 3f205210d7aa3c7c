#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "sim/costs/costs.hpp"
#include "sim/plan/plan.hpp"
#include "sim/timeline/timeline.hpp"
#include "sim/timeline/timeline_file.hpp"

namespace penstock {

/// A measured step taken apart, so that simulating the parts gives the step again.
struct MeasuredStep {
  // Microbatches have no classes of their own here, as they have in plans where they differ.
  std::shared_ptr<const Plan> plan;
  Time makespan{};
  // By task. The second part of a fused cell has no time of its own.
  std::vector<Time> begin;
  std::vector<Time> gap;       // from when its inputs and its rank or link were there to its begin
  std::vector<Time> duration;  // on its rank or link
  std::vector<Time> latency;   // of a transfer: from then until it arrives

  /// How long a task takes until its result is there.
  Time length(TaskId task) const { return duration[task] + latency[task]; }
};

/// `costs` are those of the timeline (`costs_of_times`). The plan must outlive the result.
MeasuredStep measured_step(const Plan& plan, const Costs& costs, const Timeline& timeline);

/// Where a rank stands in its job.
struct RankPlace {
  std::uint32_t pipeline = 0;  // ranks that pass tensors to each other: a data replica
  std::uint32_t position = 0;  // ranks with the same stages, in any replica
};

struct RankGroups {
  std::vector<RankPlace> ranks;
  std::uint32_t pipelines = 0;
  std::uint32_t positions = 0;
};

RankGroups rank_groups_of(const Plan& plan);

/// Ops that do the same on stages that are cut evenly: a pass, alone or fused with another.
struct OpKind {
  Pass pass;
  bool recomputes = false;
  std::uint8_t beside = 0xff;  // the pass of the other part of a fused cell
  friend auto operator<=>(const OpKind&, const OpKind&) = default;
};
OpKind kind_of(const Plan& plan, const WorkClass& work);

/// The lengths of the ops of a measured step as products: what the stage takes, times how much
/// slower its rank is, times how much more the microbatch holds, times what is left: the jitter of
/// this op. All factors are medians: a few outliers change nothing. In picoseconds;
/// transfers have a usual length and the factor of their link alone.
struct OpModel {
  RankGroups groups;
  double jitter = 0;  // of actions: standard deviation of the logarithm, from the median deviation

  std::vector<double> usual;            // by class: without what follows; 0: unknown
  std::vector<double> even;             // by class: where the ranks of all stages have equal work
  std::vector<double> rank;             // by rank: at least 1
  std::vector<double> link;             // by link of the plan: at least 1
  std::vector<double> replica;          // by pipeline: its work, the mean of all being 1
  std::vector<double> microbatch;       // by `share_of`: its work, the mean of its pipeline being 1
  std::vector<std::uint32_t> share_of;  // by task: its microbatch in its pipeline
  bool ranks_known = false;             // slow ranks can be told from uneven stages
  // By rank and by link: over its peers, without a threshold; 0: no peers.
  std::vector<double> measured_rank, measured_link;
  std::vector<double> peers;  // by class: what peers of its rank or link take; 0: none

  /// Whether the class runs layers: slow ranks and long microbatches change it.
  static bool varies(Pass pass) { return runs_layers(pass); }
};

/// What is expected of the ops of a plan: their median length by kind and model stage, of transfers
/// the stage that they leave. Only their proportions count.
struct ExpectedOps {
  std::map<std::pair<std::uint32_t, OpKind>, double> of_stage;

  /// 0: nothing.
  double of(std::uint32_t model_stage, const OpKind& kind) const {
    const auto found = of_stage.find({model_stage, kind});
    return found == of_stage.end() ? 0 : found->second;
  }
};
ExpectedOps expected_ops(const Recording& run);

/// Rules, with s the standard error of the median of n ops over that of m others, which is
/// 1.25 jitter sqrt(1/n + 1/m):
/// - a rank is slow if half of its ops take 2 % and 4 s longer than those of its peers: ranks with
///   the same stage in other replicas; else what is expected of its stage; else, if it alone holds
///   several stages, those of others. Without any of these a slow rank counts as an uneven stage.
///   Its ops have the jitter of all, or their own if that is larger. Ops of a stage that differ
///   from each other by more than 4 times the jitter and 4 %, also without the factors of
///   microbatches, are not compared;
/// - a link is slow if its transfers take 5 % and 4 s longer than those of its peers: the same
///   stages in other replicas; else, of activations and gradients, all links;
/// - where half of the ranks of a replica are slower than those of others, the replica is;
/// - microbatches and stages differ if any of them is 1 % and 4 s off.
OpModel op_model(const MeasuredStep& step, const ExpectedOps* expected = nullptr);

/// The last step of it: links.
void compare_links(const MeasuredStep& step, const ExpectedOps* expected, OpModel& model);

constexpr double error_of_median = 1.2533;  // over that of the mean, of normal values
constexpr double sure = 4;                  // standard errors
constexpr double least_uneven = 0.01;

}  // namespace penstock
