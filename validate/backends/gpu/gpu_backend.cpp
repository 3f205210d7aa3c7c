#include "validate/backends/gpu/gpu_backend.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/error.hpp"
#include "sim/engines/events.hpp"
#include "sim/plan/plan.hpp"
#include "validate/backends/cuda/gpu_device.hpp"
#include "validate/backends/cuda/gpu_owners.hpp"
#include "validate/backends/cuda/measuring/gpu_probes.hpp"
#include "validate/backends/cuda/measuring/gpu_trials.hpp"
#include "validate/backends/cuda/running/gpu_executor.hpp"
#include "validate/backends/cuda/stages/gpu_layer_kinds.hpp"
#include "validate/job/rank_program.hpp"
#include "validate/machine/host.hpp"
#include "validate/processes/child_process.hpp"

namespace penstock {
namespace {

constexpr std::uint32_t most_ranks = 64;
constexpr std::uint32_t most_tasks = 100'000;
constexpr std::uint64_t most_bytes = std::uint64_t{64} << 30;  // copied per run
constexpr std::uint64_t longest_link_ns = 10'000'000'000;      // all transfers of a run together

constexpr std::string_view what_waiting_does_not =
    " With actions that only wait, as here, it validates neither memory peaks nor the interference "
    "model.";

/// The program of a job with the bodies that the device runs in the time of its actions.
GpuProgram program_on(const GpuDevice& device, const Job& job, const GpuLayerSizes& sizes) {
  GpuProgram program = gpu_program(job);
  program.sizes = job.device.layers ? job.device.layers->sizes : sizes;
  give_amounts(device, job.device.work, program);
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

/// When the tasks of a run, one at a time, would have run on devices of their own: each takes as
/// long as it did, copies as long as their links say unless these are real, after those before it
/// on its lane and after its inputs.
void set_side_by_side(const GpuProgram& program, bool real_links, GpuRun& run) {
  std::vector<std::uint64_t> free_ns(program.lanes());
  for (std::size_t task = 0; task < program.tasks.size(); ++task) {
    const GpuTask& what = program.tasks[task];
    const bool stated = program.is_copy(what) && !real_links;
    const std::uint64_t took = stated ? what.duration_ns : run.end_ns[task] - run.begin_ns[task];
    std::uint64_t& begin = run.begin_ns[task] = free_ns[what.lane];
    for (const std::uint32_t input : what.inputs) begin = std::max(begin, run.end_ns[input]);
    free_ns[what.lane] = begin + took;
    run.end_ns[task] = begin + took + what.latency_ns;
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

/// Checks whether copies are as fast as the links they emulate.
class GpuRates {
 public:
  explicit GpuRates(std::size_t links) : asked_ns_(links), took_ns_(links) {}

  /// Adds the transfers of a run.
  void add(const GpuProgram& program, const GpuRun& run) {
    // Of a copy: until all its threads have started and one has seen that its time is over.
    constexpr double grace_ns = 2000;
    for (std::size_t task = 0; task < program.tasks.size(); ++task) {
      const GpuTask& what = program.tasks[task];
      if (!program.is_transfer(what) || what.bytes == 0 || what.duration_ns == 0) continue;
      const std::uint64_t held = run.end_ns[task] - what.latency_ns - run.begin_ns[task];
      const auto asked = static_cast<double>(what.duration_ns);
      asked_ns_[what.lane - program.ranks] += asked;
      took_ns_[what.lane - program.ranks] += std::max(asked, static_cast<double>(held) - grace_ns);
    }
  }
  /// The lowest share of its rate that any link reached in any run; 1 without transfers.
  double least() const {
    double least = 1;
    for (std::size_t link = 0; link < asked_ns_.size(); ++link)
      least = std::min(least, share(link));
    return least;
  }
  /// Names a link that was too slow.
  std::optional<std::string> fault(const Plan& plan) const {
    constexpr double least_share = 0.97;
    for (std::size_t link = 0; link < asked_ns_.size(); ++link) {
      if (share(link) >= least_share) continue;
      return fmt::format(
          "link {} reached {:.1f} % of its rate; below {:.0f} % the run does not count",
          text(plan.links[link]), 100 * share(link), 100 * least_share);
    }
    return std::nullopt;
  }

 private:
  double share(std::size_t link) const {
    return took_ns_[link] > asked_ns_[link] ? asked_ns_[link] / took_ns_[link] : 1;
  }

  std::vector<double> asked_ns_;  // by link
  std::vector<double> took_ns_;
};

/// "32", or "16, 48" where ranks have different ones.
std::string sms_text(const GpuDevice& device, std::uint32_t ranks) {
  std::vector<std::uint32_t> sms;
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    const std::uint32_t own =
        device.is_partitioned() ? device.sms_of_rank(rank) : device.facts().sms;
    if (rank == 0 || own != sms.front()) sms.push_back(own);
  }
  if (sms.size() == 1) return fmt::format("{}", sms.front());
  sms.clear();
  for (std::uint32_t rank = 0; rank < ranks; ++rank) sms.push_back(device.sms_of_rank(rank));
  return fmt::format("{}", fmt::join(sms, ", "));
}

/// "8", or "3 to 8": how many layers stages have.
std::string layers_text(const GpuProgram& program) {
  std::uint64_t least = UINT64_MAX;
  std::uint64_t most = 0;
  for (const GpuBody& body : program.bodies) {
    if (layer_kind_of(body.work) == nullptr) continue;
    least = std::min(least, body.amount);
    most = std::max(most, body.amount);
  }
  return least < most ? fmt::format("{} to {}", least, most) : fmt::format("{}", most);
}

/// Whether the host was ahead of tasks that run one at a time.
std::string host_text(double share) {
  constexpr double most = 0.9;
  const double percent = 100 * std::min(share, 1.0);
  return share < most
             ? fmt::format("none: the host issued for {:.0f} % of a run at most", percent)
             : fmt::format("the host issued for {:.0f} % of a run: kernels wait for it", percent);
}

/// Where a graph of all lanes needs them, lanes share all SMs.
GpuDevice device_for(const Job& job, GpuOrdering ordering, const GpuCalls& calls) {
  const auto longest_wait = run_limit(job, usual_gpu_wait, 10);
  const std::uint32_t ranks = job.priced.plan.ranks;
  const auto links = static_cast<std::uint32_t>(job.priced.plan.links.size());
  const std::vector<double> work = work_of_ranks(gpu_program(job));
  if (ordering == GpuOrdering::one_by_one) {
    GpuDevice whole(calls, ranks, links, {}, "actions run one at a time", longest_wait);
    whole.give_each_all_sms();
    return whole;
  }
  GpuDevice device(calls, ranks, links, work, {}, longest_wait);
  if (ordering != GpuOrdering::graph || device.why_no_graph().empty()) return device;
  const std::string why = device.why_no_graph();
  return {calls, ranks, links, work, why, longest_wait};
}

class GpuBackend : public Backend {
 public:
  GpuBackend(const Job& job, GpuOrdering ordering, const GpuCalls& calls,
             const GpuLayerSizes& sizes)
      : job_(job),
        device_(device_for(job, ordering, calls)),
        clock_step_(clock_step(device_)),
        program_(program_on(device_, job, sizes)),
        setup_{.ordering = ordering,
               .links = job.real_links ? GpuLinkKind::host : GpuLinkKind::paced},
        profile_(device_, profile_program(job, program_), profile_setup(setup_)),
        rates_(job.priced.plan.links.size()),
        standstill_(order_standstill(job.priced.plan)) {
    if (!standstill_) make_executor();
  }

  std::vector<Time> profile() override;
  RunOutcome run() override;
  std::map<std::string, std::string> environment() const override;
  std::optional<std::string> why_no_score() const override;

 private:
  /// The same kernels as in a run, each once.
  static GpuRunSetup profile_setup(GpuRunSetup setup) {
    if (setup.ordering == GpuOrdering::host_graphs) setup.ordering = GpuOrdering::host_issued;
    return setup;
  }
  bool one_by_one() const { return setup_.ordering == GpuOrdering::one_by_one; }
  void make_executor();
  void add_measures(std::map<std::string, std::string>& all) const;

  void try_sharing();
  std::optional<std::string> why_queues_are_shared() const;

  const Job& job_;
  GpuDevice device_;
  ClockStep clock_step_;
  GpuProgram program_;
  GpuRunSetup setup_;
  std::string why_no_action_graphs_;
  GpuExecutor profile_;
  GpuRates rates_;
  std::optional<Standstill> standstill_;  // of every run
  std::optional<GpuExecutor> executor_;   // none at a standstill
  std::uint32_t shared_sms_ = 0;
  bool has_virtual_sms_ = false;
  bool shares_queues_ = false;
  GpuOverheads overheads_;
  double host_share_ = 0;  // of a run, that the host issued: the most
  std::vector<std::uint32_t> wrong_transfers_;
};

/// Where a driver does not capture single actions, the host launches their kernels.
void GpuBackend::make_executor() {
  constexpr std::uint32_t turns = 5;
  try {
    executor_.emplace(device_, one_by_one() ? unpaced(program_) : program_, setup_);
  } catch (const GpuError& error) {
    if (setup_.ordering != GpuOrdering::host_graphs) throw;
    why_no_action_graphs_ = error.what();
    setup_.ordering = GpuOrdering::host_issued;
    executor_.emplace(device_, program_, setup_);
  }
  try_sharing();
  wrong_transfers_ = wrong_transfers(device_, executor_->program(), setup_);
  overheads_ = measure_overheads(device_, executor_->program(), setup_, turns);
}

/// Default streams of contexts may have queues of their own: where that would be too many, lanes
/// are tried.
void GpuBackend::try_sharing() {
  if (!device_.is_partitioned()) return;
  const std::uint32_t all = device_.streams() + device_.default_streams();
  shares_queues_ = all > device_.facts().queues && lanes_share_queues(device_, program_);
  executor_->run();
  const auto seen = executor_->actions().sms_seen();
  shared_sms_ = sms_in_several_ranks(seen);
  has_virtual_sms_ =
      shared_sms_ > 0 && may_be_renumbered(seen) && !ranks_share_sms(device_, program_);
  if (has_virtual_sms_) shared_sms_ = 0;
}

std::optional<std::string> GpuBackend::why_queues_are_shared() const {
  const std::uint32_t queues = device_.facts().queues;
  const std::uint32_t streams = device_.streams();
  if (streams <= queues && !shares_queues_) return std::nullopt;
  const std::string by_default =
      streams > queues ? "" : fmt::format(", and {} of contexts", device_.default_streams());
  return fmt::format(
      "{} streams{} share {} hardware queues (CUDA_DEVICE_MAX_CONNECTIONS, at most {}), so tasks "
      "wait for unrelated ones",
      streams, by_default, queues, most_hardware_queues);
}

std::vector<Time> GpuBackend::profile() {
  const GpuRun run = profile_.run();
  std::vector<Time> times = job_.priced.costs.duration;
  std::size_t task = 0;
  for (std::size_t c = 0; c < times.size(); ++c) {
    const bool moves = job_.priced.plan.is_link(job_.priced.plan.classes[c].resource);
    if (moves && !job_.real_links) continue;
    times[c] = from_ns(static_cast<std::int64_t>(run.end_ns[task] - run.begin_ns[task]));
    ++task;
  }
  return times;
}

RunOutcome GpuBackend::run() {
  if (standstill_) return *standstill_;
  GpuRun run = executor_->run();
  host_share_ = std::max(host_share_, static_cast<double>(run.issue_ns) / run.elapsed_ns);
  rates_.add(executor_->program(), run);
  if (one_by_one()) set_side_by_side(program_, job_.real_links, run);
  return timeline_of(job_.priced.plan, run);
}

std::optional<std::string> GpuBackend::why_no_score() const {
  if (!device_.is_partitioned() && !one_by_one()) {
    return fmt::format("ranks share all SMs ({}): {}", device_.mode(),
                       device_.shares().why_unpartitioned);
  }
  if (auto reason = why_queues_are_shared(); reason && !one_by_one()) return reason;
  if (shared_sms_ > 0) return fmt::format("{} SMs ran actions of several ranks", shared_sms_);
  if (!wrong_transfers_.empty()) {
    return fmt::format("{} tensors arrived with other contents than were sent, {} first",
                       wrong_transfers_.size(),
                       task_text(job_.priced.plan, wrong_transfers_.front()));
  }
  if (overheads_.stamps > most_stamp_overhead) {
    return fmt::format("stamps cost {:.1f} % of a run; at most {:.0f} % may be",
                       100 * overheads_.stamps, 100 * most_stamp_overhead);
  }
  return rates_.fault(job_.priced.plan);
}

std::map<std::string, std::string> GpuBackend::environment() const {
  const GpuFacts& facts = device_.facts();
  std::map<std::string, std::string> all =
      gpu_environment(device_, clock_step_.median_ns, job_.device.work, program_.sizes,
                      executor_ ? executor_->actions().algorithms() : 0);
  all["backend"] = setup_.ordering == GpuOrdering::graph ? "cuda_single_graph"
                   : one_by_one()                        ? "cuda_logical"
                                                         : "cuda_single";
  if (layer_kind_of(job_.device.work) != nullptr) all["layers_of_stage"] = layers_text(program_);
  all["partition_sms"] = sms_text(device_, job_.priced.plan.ranks);
  all["sms_for_links"] = fmt::format("{}", device_.shares().links.sms);
  all["sms_in_several_ranks"] = fmt::format("{}", shared_sms_);
  all["sm_ids"] = has_virtual_sms_ ? "numbered by context" : "of the device";
  all["cuda"] = cuda_version_text(static_cast<std::uint32_t>(facts.driver));
  all["mode"] = device_.mode();
  add_measures(all);
  all["streams"] = fmt::format("{}", device_.streams());
  all["hardware_queues"] = fmt::format("{}", facts.queues);
  all["validates"] = one_by_one() ? one_at_a_time_scope : one_gpu_scope;
  if (job_.device.work == GpuWork::spin) all["validates"] += what_waiting_does_not;
  return all;
}

/// What was measured beside the runs.
void GpuBackend::add_measures(std::map<std::string, std::string>& all) const {
  constexpr const char* orderings[] = {
      "the host launches kernels", "the host launches a graph per action and buffer slot",
      "one graph per iteration", "the host launches one task at a time"};
  all["ordering"] = orderings[static_cast<std::size_t>(setup_.ordering)];
  if (!why_no_action_graphs_.empty()) all["why_no_action_graphs"] = why_no_action_graphs_;
  all["links"] = job_.real_links ? "copies to pinned host memory and back"
                 : one_by_one()  ? "copies, timed as the links of the scenario"
                                 : fmt::format("paced copies, at {:.1f} % of their rate or more",
                                               100 * rates_.least());
  all["stamp_overhead"] = fmt::format("{:.2f} %", 100 * overheads_.stamps);
  all["host_effect"] = one_by_one() ? host_text(host_share_)
                       : overheads_.host_effect
                           ? fmt::format("{:.2f} %", 100 * *overheads_.host_effect)
                           : "unknown, no graph of all lanes: " + overheads_.why_no_effect;
}

}  // namespace

std::optional<Obstacle> gpu_obstacle(const PricedPlan& priced, const GpuCalls* calls) {
  const Plan& plan = priced.plan;
  if (auto reason = why_not_relax(plan, priced.conditions)) {
    return Obstacle{.of_machine = false, .text = "this scenario: " + *reason};
  }
  for (auto reason : {why_not_plain(priced), why_no_programs(plan), why_only_threads(plan)}) {
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

std::unique_ptr<Backend> make_gpu_backend(const Job& job, GpuOrdering ordering,
                                          const GpuCalls& calls, const GpuLayerSizes& sizes) {
  check_transfers(gpu_program(job));
  return std::make_unique<GpuBackend>(job, ordering, calls, sizes);
}

}  // namespace penstock
