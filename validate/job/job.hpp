#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "hardware_models/spec/model_spec.hpp"
#include "sim/costs/priced_plan.hpp"
#include "validate/backends/cuda/layers/gpu_work.hpp"
#include "validate/job/trained_numbers.hpp"

namespace penstock {

/// How an update behind the gradient sums of a step changes weights. Adam's betas are 0.9 and
/// 0.999, its epsilon 1e-8.
enum class StepRule : std::uint8_t { sgd, adam };

/// The layers that the actions of a job run.
struct JobLayers {
  std::vector<std::vector<LayerSpec>> stages;  // by model stage, in running order
  CellShape shape;                             // of a whole microbatch, on one device
  std::uint64_t seed = 1;                      // of weights, inputs and labels
  bool selective = false;                // recompute what layers select, not everything they keep
  WeightRule weights;                    // the weight version that a microbatch uses
  double rate = 0.05;                    // learning rate of an update
  StepRule step = StepRule::sgd;         // of orders with flushes; others subtract rate * gradient
  std::vector<StageCodecs> codecs = {};  // by model stage; empty: nothing is encoded
  bool times_layers = false;  // measures each layer of an action, which costs clock readings
};

/// What communicators of several GPUs take; 0 leaves it to NCCL.
struct CommResources {
  std::uint32_t least_blocks = 0;  // of a kernel of NCCL (CTAs), one on each SM
  std::uint32_t most_blocks = 0;
  bool shared = false;  // by all communicators of a rank
  friend bool operator==(const CommResources&, const CommResources&) = default;
};

/// The layers that stages have on a GPU, all of one size.
struct DeviceLayers {
  GpuLayerSizes sizes;
  std::vector<std::uint32_t> of_stage;  // by model stage: how many
};

/// How a job runs on a GPU, or on several.
struct DeviceOptions {
  GpuWork work = GpuWork::spin;
  bool real_links = false;  // copies out to host memory and back, as fast as the machine is
  CommResources comms = {};
  std::optional<DeviceLayers> layers = {};  // none: as many of fixed sizes as take its time
};

/// A priced plan to run for real, with scaled costs. Times of work classes are whole nanoseconds,
/// so that clocks of machine and simulator can agree exactly; conditions are those of the machine.
struct Job {
  PricedPlan priced;
  double scale = 1;                      // times, relative to the original costs
  std::size_t most_tensor_words = 8192;  // per tensor, for busy kernels
  std::optional<JobLayers> layers;       // without layers, actions keep a core busy
  bool real_links = false;               // transfers take their own time, which is measured
  DeviceOptions device = {};

  // By work class: how long it occupies its rank or link, the delay until a transfer arrives, and
  // the tensor of a transfer.
  std::int64_t work_ns(std::size_t work) const { return to_ns(priced.costs.duration[work]); }
  std::int64_t latency_ns(std::size_t work) const { return to_ns(priced.costs.latency[work]); }
  // By task, since chance makes tasks of a class differ.
  std::int64_t task_ns(TaskId task) const {
    return to_ns(priced.costs.duration_of(priced.plan, task));
  }
  std::int64_t task_latency_ns(TaskId task) const {
    return to_ns(priced.costs.latency_of(priced.plan, task));
  }
  std::uint64_t tensor_bytes(std::size_t work) const;
};

/// Real durations and sizes of a job.
struct JobLength {
  std::int64_t mean_action_ns = 50'000;     // far above the cost of reading a clock
  std::int64_t least_work_ns = 1'000'000;   // of all actions of a rank
  std::int64_t most_work_ns = 100'000'000;  // of all ranks; but the mean is at least
  std::int64_t least_action_ns = 20'000;    // this, or the requested one if that is less
  std::size_t most_tensor_words = 8192;
};

/// A job with the costs of a plan, all scaled by one factor, so that it can be run many times in
/// little time. Throws UsageError when nothing can be measured: no action takes time, there are too
/// many actions, or links take far longer.
Job job_of(PricedPlan priced, const JobLength& length = {});

/// Replaces the requested durations of actions by measured ones; links scale with the total of all
/// actions.
void use_measured(Job& job, const std::vector<Time>& profile);

/// A job with costs times `scale`, rounded to whole nanoseconds. Throws UsageError for links that
/// take more than 15 minutes.
Job scaled_job(PricedPlan priced, double scale = 1);

/// Transfers of a job take as long as they take: profiles have their times too, and what the job
/// says of links no longer counts.
void use_real_links(Job& job);

/// The plan of a job with work classes from a profile, times what chance makes of a task; the rest
/// is as in the job.
PricedPlan profiled(const Job& job, std::vector<Time> profile);

}  // namespace penstock
