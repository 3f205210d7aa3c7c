#include "validate/backends/gpu/gpu_backend.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "sim/base/error.hpp"
#include "sim/engines/events.hpp"
#include "validate/backends/cuda/gpu_probes.hpp"
#include "validate/backends/cuda/gpu_queues.hpp"
#include "validate/backends/gpu/gpu_rates.hpp"
#include "validate/job/rank_program.hpp"
#include "validate/machine/host.hpp"

namespace penstock {
namespace {

constexpr std::uint32_t most_ranks = 64;
constexpr std::uint32_t most_tasks = 100'000;
constexpr std::uint64_t most_bytes = std::uint64_t{64} << 30;  // copied per run
constexpr std::uint64_t longest_link_ns = 10'000'000'000;      // all transfers of a run together

constexpr const char* what_it_validates =
    "A run on one GPU validates schedule order, dependency handling, bubble accounting, launch "
    "overhead, graph behaviour, memory peaks and the interference model. It does not validate "
    "NVLink or InfiniBand rates, NCCL protocol switches, the overlap of data-parallel all-reduces, "
    "or clocks that differ between devices. With actions that only wait, as here, it validates "
    "neither memory peaks nor the interference model.";

std::uint64_t positive(std::int64_t ns) {
  return static_cast<std::uint64_t>(std::max<std::int64_t>(ns, 0));
}

/// Each work class of the ranks once, without dependencies.
GpuProgram profile_program(const Job& job) {
  GpuProgram program{job.priced.plan.ranks, 0, {}};
  for (std::size_t c = 0; c < job.priced.plan.classes.size(); ++c) {
    const std::uint32_t resource = job.priced.plan.classes[c].resource;
    if (job.priced.plan.is_link(resource)) continue;
    program.tasks.push_back({.lane = resource, .duration_ns = positive(job.work_ns(c))});
  }
  return program;
}

/// The deadlock of an order, if any: a task that follows one that waits for it.
std::optional<Standstill> order_standstill(const Plan& plan) {
  std::optional<Standstill> halt;
  for (TaskId task = 0; task < plan.tasks() && !halt; ++task) {
    plan.for_each_input(task, [&](TaskId input) {
      if (input < task || halt) return;
      const std::uint32_t resource = plan.class_of(task).resource;
      const Rank rank = plan.is_link(resource) ? plan.link(resource).from : Rank{resource};
      halt = Standstill{"deadlock",
                        rank,
                        {},
                        fmt::format("deadlock: {} waits for {}, which follows it",
                                    task_text(plan, task), task_text(plan, input))};
    });
  }
  return halt;
}

/// A copy occupies its link for its whole time, so runs take at least this long.
void check_transfers(const GpuProgram& program) {
  std::uint64_t bytes = 0;
  std::uint64_t ns = 0;
  for (const GpuTask& task : program.tasks) {
    if (!program.is_transfer(task)) continue;
    bytes += std::min(task.bytes, most_bytes + 1);
    ns += std::min(task.duration_ns + task.latency_ns, longest_link_ns + 1);
  }
  if (bytes > most_bytes) {
    throw UsageError(
        fmt::format("a run would copy more than {} GiB, the limit of one GPU", most_bytes >> 30));
  }
  if (ns > longest_link_ns) {
    throw UsageError(fmt::format("the transfers of a run would take more than {} s in total",
                                 longest_link_ns / 1'000'000'000));
  }
}

/// Starts at the begin of the first task.
Timeline timeline_of(const Plan& plan, const GpuRun& run) {
  const std::uint64_t first = *std::min_element(run.begin_ns.begin(), run.begin_ns.end());
  const auto moment = [&](std::uint64_t ns) {
    return from_ns(static_cast<std::int64_t>(ns - first));
  };
  Timeline timeline;
  for (const std::uint64_t ns : run.begin_ns) timeline.begin.push_back(moment(ns));
  for (const std::uint64_t ns : run.end_ns) timeline.end.push_back(moment(ns));
  find_last_inputs(plan, timeline);
  return timeline;
}

/// The number of SMs that ran actions of several ranks.
std::size_t shared_sms(const std::vector<std::vector<std::uint32_t>>& seen) {
  std::vector<std::uint32_t> ranks(most_sm_ids);
  for (const std::vector<std::uint32_t>& ids : seen) {
    for (const std::uint32_t id : ids) ++ranks[id];
  }
  return static_cast<std::size_t>(
      std::count_if(ranks.begin(), ranks.end(), [](std::uint32_t n) { return n > 1; }));
}

std::string version_text(int version) {
  return fmt::format("{}.{}", version / 1000, version % 1000 / 10);
}

class GpuBackend : public Backend {
 public:
  GpuBackend(const Job& job, GpuOrdering ordering, const GpuCalls& calls)
      : job_(job),
        ordering_(ordering),
        device_(calls, job.priced.plan.ranks,
                static_cast<std::uint32_t>(job.priced.plan.links.size())),
        clock_step_(clock_step(device_)),
        profile_(device_, profile_program(job), ordering),
        rates_(static_cast<std::uint32_t>(job.priced.plan.links.size())),
        standstill_(order_standstill(job.priced.plan)) {
    if (!standstill_) executor_.emplace(device_, gpu_program(job), ordering);
  }

  std::vector<Time> profile() override;
  RunOutcome run() override;
  std::map<std::string, std::string> environment() const override;
  std::optional<std::string> why_no_score() const override;

 private:
  /// All lanes and the conductor.
  std::uint32_t streams() const { return device_.lanes() + 1; }
  std::size_t sms_in_several_ranks() const {
    return executor_ ? shared_sms(executor_->sms_seen()) : 0;
  }

  const Job& job_;
  GpuOrdering ordering_;
  GpuDevice device_;
  ClockStep clock_step_;
  GpuExecutor profile_;
  GpuRates rates_;
  std::optional<Standstill> standstill_;  // of every run
  std::optional<GpuExecutor> executor_;   // none at a standstill
};

std::vector<Time> GpuBackend::profile() {
  const GpuRun run = profile_.run();
  std::vector<Time> times = job_.priced.costs.duration;
  std::size_t task = 0;
  for (std::size_t c = 0; c < times.size(); ++c) {
    if (job_.priced.plan.is_link(job_.priced.plan.classes[c].resource)) continue;
    times[c] = from_ns(static_cast<std::int64_t>(run.end_ns[task] - run.begin_ns[task]));
    ++task;
  }
  return times;
}

RunOutcome GpuBackend::run() {
  if (standstill_) return *standstill_;
  const GpuRun run = executor_->run();
  rates_.add(executor_->program(), run);
  return timeline_of(job_.priced.plan, run);
}

std::optional<std::string> GpuBackend::why_no_score() const {
  if (!device_.is_partitioned()) {
    return fmt::format("ranks share all SMs ({}): {}", device_.mode(),
                       device_.shares().why_unpartitioned);
  }
  if (const std::uint32_t queues = device_.facts().queues; streams() > queues) {
    return fmt::format(
        "{} streams share {} hardware queues (CUDA_DEVICE_MAX_CONNECTIONS, at most {}), so tasks "
        "wait for unrelated ones",
        streams(), queues, most_hardware_queues);
  }
  if (const std::size_t shared = sms_in_several_ranks(); shared > 0) {
    return fmt::format("{} SMs ran actions of several ranks", shared);
  }
  return rates_.fault(job_.priced.plan);
}

std::map<std::string, std::string> GpuBackend::environment() const {
  const GpuFacts& facts = device_.facts();
  std::map<std::string, std::string> all = host_environment();
  all["backend"] = ordering_ == GpuOrdering::graph ? "cuda_single_graph" : "cuda_single";
  all["device"] = facts.name.data();
  all["cc"] = fmt::format("{}.{}", facts.compute_major, facts.compute_minor);
  all["sms"] = fmt::format("{}", facts.sms);
  all["partition_sms"] =
      fmt::format("{}", device_.is_partitioned() ? device_.sms_of_rank() : facts.sms);
  all["sms_for_links"] = fmt::format("{}", device_.shares().links.sms);
  all["sms_in_several_ranks"] = fmt::format("{}", sms_in_several_ranks());
  if (const auto version = nvidia_driver(file_text("/proc/driver/nvidia/version"))) {
    all["driver"] = *version;
  }
  all["cuda"] = version_text(facts.driver);
  all["cudart"] = version_text(facts.runtime);
  all["mode"] = device_.mode();
  all["clock"] = fmt::format("globaltimer, in steps of {} ns", clock_step_.median_ns);
  all["links"] =
      fmt::format("paced copies, at {:.1f} % of their rate or more", 100 * rates_.least());
  all["streams"] = fmt::format("{}", streams());
  all["hardware_queues"] = fmt::format("{}", facts.queues);
  all["validates"] = what_it_validates;
  return all;
}

}  // namespace

std::optional<Obstacle> gpu_obstacle(const PricedPlan& priced, const GpuCalls* calls) {
  const Plan& plan = priced.plan;
  if (auto reason = why_not_relax(plan, priced.conditions)) {
    return Obstacle{.of_machine = false, .text = "this scenario: " + *reason};
  }
  for (auto reason : {why_not_plain(priced), why_no_programs(plan)}) {
    if (reason) return Obstacle{.of_machine = false, .text = *reason};
  }
  if (plan.ranks > most_ranks) {
    return Obstacle{true, fmt::format("{} ranks on one GPU; at most {}", plan.ranks, most_ranks)};
  }
  if (plan.tasks() > most_tasks) {
    return Obstacle{true,
                    fmt::format("{} actions and transfers; at most {}", plan.tasks(), most_tasks)};
  }
  if (calls == nullptr) {
    return Obstacle{true, fmt::format("no GPU: this build is without CUDA, {}", why_no_cuda())};
  }
  if (auto reason = why_no_gpu(*calls)) return Obstacle{true, *reason};
  return std::nullopt;
}

GpuProgram gpu_program(const Job& job) {
  const Plan& plan = job.priced.plan;
  GpuProgram program{plan.ranks, static_cast<std::uint32_t>(plan.links.size()), {}};
  program.tasks.reserve(plan.tasks());
  for (TaskId task = 0; task < plan.tasks(); ++task) {
    const std::uint32_t work = plan.work[task];
    GpuTask& made = program.tasks.emplace_back(GpuTask{.lane = plan.classes[work].resource,
                                                       .duration_ns = positive(job.work_ns(work)),
                                                       .latency_ns = positive(job.latency_ns(work)),
                                                       .bytes = job.tensor_bytes(work),
                                                       .inputs = {}});
    plan.for_each_input(task, [&](TaskId input) { made.inputs.push_back(input); });
  }
  return program;
}

std::unique_ptr<Backend> make_gpu_backend(const Job& job, GpuOrdering ordering,
                                          const GpuCalls& calls) {
  check_transfers(gpu_program(job));
  return std::make_unique<GpuBackend>(job, ordering, calls);
}

}  // namespace penstock
