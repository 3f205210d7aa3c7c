#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "hardware_models/spec/model_spec.hpp"
#include "sim/costs/priced_plan.hpp"

namespace penstock {

/// The layers that the actions of a job really run.
struct JobLayers {
  std::vector<std::vector<LayerSpec>> stages;  // by model stage, in the order they feed each other
  CellShape shape;                             // of a whole microbatch, on one device
  std::uint64_t seed = 1;                      // of weights, inputs and labels
  bool selective = false;  // recomputation: what layers select, not all they keep
  WeightRule weights;      // which version of its weights a microbatch uses
  double rate = 0.05;      // of an update: weights go down their gradient
};

/// A priced plan to run for real, its costs scaled, and what no simulation needs. Times of work
/// classes are whole nanoseconds, so that clocks of a machine and of the simulator can agree
/// exactly; conditions are those of the machine.
struct Job {
  PricedPlan priced;
  double scale = 1;                      // times are so often those of the costs it was made from
  std::size_t most_tensor_words = 8192;  // that move for a tensor, where actions are busy kernels
  std::optional<JobLayers> layers;       // without them actions keep a core busy

  // Of a work class: how long it keeps its rank or link, how much later what was sent is there, and
  // the tensor of a transfer.
  std::int64_t work_ns(std::size_t work) const { return to_ns(priced.costs.duration[work]); }
  std::int64_t latency_ns(std::size_t work) const { return to_ns(priced.costs.latency[work]); }
  std::uint64_t tensor_bytes(std::size_t work) const;
};

/// How long things take for real, and how much moves.
struct JobLength {
  std::int64_t mean_action_ns = 50'000;     // far above what reading a clock takes
  std::int64_t least_work_ns = 1'000'000;   // of all actions together, a rank
  std::int64_t most_work_ns = 100'000'000;  // of all ranks together; but the mean is no less than
  std::int64_t least_action_ns = 20'000;  // this, or the one that is asked for, where that is less
  std::size_t most_tensor_words = 8192;
};

/// A job that takes what its costs say, all of them longer or shorter in the same proportion, so
/// that it can be run many times in little time. Throws UsageError where that leaves nothing to be
/// measured: no action takes any time, there are too many of them, or links take so much longer.
Job job_of(PricedPlan priced, const JobLength& length = {});

/// Puts what actions were measured to take in place of what they were asked to; links become
/// slower or faster in the proportion in which all actions together did.
void use_measured(Job& job, const std::vector<Time>& profile);

/// A job that takes so many times what its costs say, rounded to whole nanoseconds. Throws
/// UsageError for links that take more than a quarter of an hour.
Job scaled_job(PricedPlan priced, double scale = 1);

/// The plan of a job with what its work classes take by a profile, and the rest as the job says.
PricedPlan profiled(const Job& job, std::vector<Time> profile);

}  // namespace penstock
