#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "schedules/partitioners/problem/cut_problem.hpp"
#include "sim/base/time.hpp"
#include "sim/costs/priced_plan.hpp"
#include "sim/order/schedule.hpp"
#include "sim/timeline/timeline.hpp"

namespace penstock {

/// The links behind a stage, each way, or null where all are alike.
struct LinksOfBoundary {
  const CutLink* there = nullptr;
  const CutLink* back = nullptr;
};

/// Durations of stages and transfers, each rounded once, from sums over the chain.
class StageTimes {
 public:
  StageTimes(const CutProblem& problem, const CutChain& chain);

  std::uint32_t size() const { return static_cast<std::uint32_t>(us_.front().size()) - 1; }
  /// An F, B, I or W of the layers [begin, end).
  Time of(Pass pass, std::uint32_t begin, std::uint32_t end) const {
    const std::vector<double>& us = us_[static_cast<std::size_t>(pass)];
    return from_us(us[end] - us[begin]);
  }
  /// How long one tensor of a boundary occupies its link: one of the problem's, or that of all
  /// where it has none.
  Time transfer(std::uint32_t position, const CutLink* link = nullptr) const;
  Time latency(const CutLink* link = nullptr) const;
  /// The problem's link between two ranks, or null.
  const CutLink* link(Rank from, Rank to) const;
  /// Those between ranks 0 and 1, 1 and 2 …, each way.
  std::vector<LinksOfBoundary> links_of_boundaries(std::uint32_t ranks) const;
  /// What takes so long by itself, on a rank.
  Time on(Rank rank, Time usual) const;
  double slowness(Rank rank) const { return slowness_.empty() ? 1 : slowness_[index(rank)]; }

 private:
  std::array<std::vector<double>, 4> us_;  // by pass: the layers before a position
  std::vector<double> boundary_bytes_;
  std::vector<Time> transfer_;
  Time latency_;
  std::vector<CutLink> links_;  // none where transfers take no time
  std::vector<double> slowness_;
};

/// Step times of cuts by the engine, to the end of the last backward. The order is lowered once; a
/// cut only changes durations.
class EngineTimes {
 public:
  /// The problem's order, or 1F1B, or interleaved 1F1B with several chunks. Throws RuleError. Both
  /// must outlive it.
  EngineTimes(const CutProblem& problem, const StageTimes& times, std::uint32_t stages);

  /// Throws InputError when the clock cannot hold the times of all actions.
  Time operator()(std::span<const std::uint32_t> cuts);
  std::uint64_t runs() const { return runs_; }

 private:
  Time duration_of(std::size_t number, std::uint32_t begin, std::uint32_t end) const;

  const StageTimes& times_;
  std::vector<const CutLink*> links_;  // by class of work: that of a transfer, where links differ
  PricedPlan priced_;
  Timeline timeline_;  // of the latest cut
  std::uint64_t runs_ = 0;
};

/// The step time of 1F1B with one stage per rank, without a plan: the same as the engine's, at a
/// fraction of its time. Only a filter; the engine judges.
class OneFOneBTimes {
 public:
  /// The times must outlive it.
  OneFOneBTimes(const StageTimes& times, std::uint32_t stages, std::uint32_t microbatches);

  /// Nothing when the clock may not hold the times.
  std::optional<Time> operator()(std::span<const std::uint32_t> cuts);

 private:
  struct Step {
    std::uint32_t stage;
    std::uint32_t microbatch;
    bool backward;
  };
  struct Stage {
    std::int64_t forward, backward;   // picoseconds
    std::int64_t sent, sent_back;     // over the boundary behind it, each way
    std::int64_t free;                // when its rank is free
    std::int64_t forward_link_free;   // to the next stage
    std::int64_t backward_link_free;  // to the previous stage
  };
  void forward(const Step& step);
  void backward(const Step& step);
  std::int64_t& arrival(const Step& step) {
    return arrivals_[step.stage * microbatches_ + step.microbatch];
  }

  const StageTimes& times_;
  std::uint32_t stages_;
  std::uint32_t microbatches_;
  std::vector<LinksOfBoundary> links_;  // of the boundary behind each stage
  std::vector<Step> steps_;             // each after what it needs
  std::vector<Stage> state_;
  // By stage and microbatch: of the activation, then, once that is read, of the gradient.
  std::vector<std::int64_t> arrivals_;
};

/// The best cuts found and their step time by the engine.
struct SimulatedCuts {
  std::vector<std::uint32_t> cuts;  // empty: none
  Time time = max_time;
};

/// Judges cuts of one problem by the engine. Under 1F1B a cut that its closed walk finds no better
/// than the best one is dropped before.
class CutJudge {
 public:
  /// All must outlive it. Throws RuleError when the order does not allow so many stages.
  CutJudge(const CutProblem& problem, const CutChain& chain, const StageTimes& times,
           std::uint32_t stages);

  std::uint32_t stages() const { return stages_; }
  bool is_one_f_one_b() const { return walk_.has_value(); }
  /// Whether every rank keeps to the capacity.
  bool fits(std::span<const std::uint32_t> cuts) const;
  /// Whether a stage alone does.
  bool fits(std::uint32_t begin, std::uint32_t end, std::uint32_t stage) const;
  /// The step time; the latest one when a stage does not fit.
  Time time_of(std::span<const std::uint32_t> cuts);
  /// Takes cuts that are better than `best`, or as good if `or_as_good`. Whether it did.
  bool take(std::span<const std::uint32_t> cuts, bool or_as_good, SimulatedCuts& best);

 private:
  const CutProblem& problem_;
  const CutChain& chain_;
  std::uint32_t stages_;
  EngineTimes engine_;
  std::optional<OneFOneBTimes> walk_;
};

/// The number of cuts into exactly `stages` stages: C(size - 1, stages - 1), at most `most`.
std::uint64_t cuts_to_try(std::uint32_t size, std::uint32_t stages, std::uint64_t most);

/// Moves boundaries of the best cuts found so far, near and far, while that helps; then from cuts
/// changed by chance, until `evaluations` cuts are judged. Leaves the best cuts in `best`.
void search_near(const StageTimes& times, std::uint64_t evaluations, std::uint64_t seed,
                 CutJudge& judge, SimulatedCuts& best);

/// Judges every cut that no bound excludes. The first of the best cuts, in the order of their
/// positions, ends in `best`, whatever it held before.
void search_all(const StageTimes& times, std::uint32_t microbatches, CutJudge& judge,
                SimulatedCuts& best);

/// Lower bounds of the step time of 1F1B with one stage per rank, in picoseconds, for cuts that are
/// known from the front. No bound exceeds the step time of any cut that begins so.
class StepBounds {
 public:
  /// The times must outlive it.
  StepBounds(const StageTimes& times, std::uint32_t stages, std::uint32_t microbatches);

  /// A stage [begin, end); `sent` is what both tensors of the boundaries before it take.
  struct Known {
    std::uint32_t stage;
    std::uint32_t begin;
    std::uint32_t end;
    double sent;
  };
  /// The rank's own work between the first microbatch that comes and the last gradient that goes.
  /// Grows with the end of the stage.
  double of_rank(const Known& known) const;
  /// The same for the later ranks, whatever their cuts.
  double of_rest(const Known& known) const;
  /// The whole way of one microbatch, and the work around its turn on this rank and the link
  /// behind.
  double of_path(const Known& known) const;
  /// Both tensors of the boundary at a position, on the fastest links.
  double sent_at(std::uint32_t position) const;

 private:
  double work(std::uint32_t begin, std::uint32_t end) const { return work_[end] - work_[begin]; }
  void find_shortest_rests();

  const StageTimes& times_;
  std::uint32_t stages_;
  double microbatches_;
  double slack_;                        // what rounding may take off
  double least_slowness_;               // of all ranks
  std::vector<LinksOfBoundary> links_;  // between neighbours
  std::vector<double> work_;  // forward and backward before a position, on the fastest rank
  // By stages that follow, then position: their least bottleneck from there to the end.
  std::vector<std::vector<double>> rest_;
  std::vector<double> cheapest_;  // by position: of sent_at behind it
};

}  // namespace penstock
