#include <fmt/format.h>
#include <unistd.h>

#include <atomic>
#include <condition_variable>
#include <cstdlib>
#include <exception>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include "validate/backends/cuda/nccl_calls.hpp"
#include "validate/backends/gpu/gpu_job_program.hpp"
#include "validate/backends/multi/multi_backend.hpp"
#include "validate/backends/multi/rank_communicators.hpp"
#include "validate/backends/nccl/nccl_library.hpp"
#include "validate/transports/tcp.hpp"

namespace penstock {
namespace {

/// A program of a rank, and what runs it.
struct RankRunner {
  RankRunner(const GpuDevice& device, GpuRankProgram program, const GpuComms& comms)
      : own(std::move(program)),
        executor(device, std::move(own.program),
                 {.ordering = GpuOrdering::host_issued, .comms = &comms}) {}

  /// After a run that failed: the first action or transfer that did not end.
  std::optional<TaskId> unfinished() const {
    const auto at = executor.unfinished();
    if (!at) return std::nullopt;
    const RankItem& item = own.items[*at];
    return item.is_action() ? item.action : item.group.front().task;
  }

  GpuRankProgram own;  // its program is the executor's
  GpuExecutor executor;
};

/// The GPU of a rank with all that runs on it.
struct RankParts {
  RankParts(const RankJob& all, const MultiJob& job, const NcclId& id)
      : device(rank_device(all.calls, job.comms, all.run_limit + all.stop_limit + usual_gpu_wait)),
        clock(device, all.calls.host_ns),
        bodies(rank_bodies(device, *all.job, all.rank, all.sizes)),
        communicators(device, *all.calls.nccl, job.comms.channels, all.rank,
                      all.job->priced.plan.ranks, id, all.job->device.comms, all.stop_limit) {}

  /// Also from another thread than the one that waits here.
  void try_and_prepare(const RankJob& all, const MultiJob& job) {
    const GpuComms& comms = communicators.comms();
    communicators.try_channels(job.comms.channels, all.rank);
    run.emplace(device, rank_program(*all.job, job.comms, all.rank, bodies), comms);
    profile.emplace(device, rank_profile(*all.job, job, all.rank, bodies), comms);
  }

  GpuDevice device;
  RankClock clock;
  RankBodies bodies;
  RankCommunicators communicators;
  std::optional<RankRunner> run;
  std::optional<RankRunner> profile;
};

class RankServer {
 public:
  RankServer(const RankJob& all, Control& control)
      : all_(all), control_(control), job_(multi_job(*all.job, all.rule)) {}

  bool serve() {
    control_.send(MessageType::ready, body_of(all_.calls.host()));
    while (const auto message = control_.receive()) {
      if (message->type == MessageType::quit) return true;
      obey(*message);
    }
    return false;
  }

  /// Lets what still runs end if it may, else aborts it, and ends the process if it does not end.
  void stop(bool may_end) {
    if (may_end && is_idle_in_time()) return;
    abort();
    if (!is_idle_in_time()) _exit(1);
  }

 private:
  void obey(const ControlMessage& message) {
    switch (message.type) {
      case MessageType::report:
        return control_.send(MessageType::progress, body_of(Progress{.active = 1}));
      case MessageType::ping:
        return control_.send(MessageType::pong, body_of(all_.calls.host_ns()));
      case MessageType::halt:
      case MessageType::halt_stuck:
        abort();
        if (is_connecting_.exchange(false)) fail("halted", "stopped while it connected");
        return;
      case MessageType::unique_id:
        return begin([this] { make_id(); });
      case MessageType::start:
        return begin([this, id = nccl_id_in(message)] { start(id); });
      case MessageType::profile:
        return begin([this] { run(*parts_->profile, job_.profile, MessageType::profiled); });
      case MessageType::run:
        return begin([this] { run(*parts_->run, *all_.job, MessageType::ran); });
      case MessageType::describe:
        return begin([this] { control_.send(MessageType::described, body_of(environment())); });
      default:
        return;
    }
  }

  bool is_idle_in_time() {
    std::unique_lock lock(mutex_);
    return idle_.wait_for(lock, all_.stop_limit, [this] { return !is_busy_; });
  }

  /// Works in a thread, so that messages are still answered.
  template <class Work>
  void begin(const Work& work) {
    {
      const std::lock_guard lock(mutex_);
      is_busy_ = true;
    }
    worker_ = std::jthread([this, work] {
      report_failure(work);
      const std::lock_guard lock(mutex_);
      is_busy_ = false;
      idle_.notify_all();
    });
  }

  template <class Work>
  void report_failure(const Work& work) {
    try {
      try {
        work();
      } catch (const SocketError&) {
        throw;
      } catch (const std::exception& error) {
        fail(is_halted_ ? "halted" : "transport", error.what());
      }
    } catch (const SocketError&) {
      return;  // nobody listens any more
    }
  }

  void fail(const char* kind, const std::string& text) {
    control_.send(MessageType::fault,
                  body_of(Standstill{
                      kind, Rank{all_.rank}, {}, fmt::format("rank {}: {}", all_.rank, text)}));
  }

  void make_id() {
    NcclId id;
    const NcclCalls& nccl = *all_.calls.nccl;
    if (all_.rank == 0) check(nccl, nccl.get_unique_id(&id), "making an identifier", nullptr);
    control_.send(MessageType::unique_id, body_of(id));
  }

  /// Nothing ends a rank that waits for others to connect: when halted, it answers at once, and the
  /// process ends with the next message.
  void start(const NcclId& id) {
    is_connecting_ = true;
    std::string why;
    try {
      connect(id);
    } catch (const std::exception& error) {
      why = error.what();
    }
    if (!is_connecting_.exchange(false)) return;
    if (!why.empty()) return fail("transport", why);
    control_.send(MessageType::ready, body_of(all_.calls.host()));
  }

  void connect(const NcclId& id) {
    auto made = std::make_unique<RankParts>(all_, job_, id);
    {
      const std::lock_guard lock(mutex_);
      parts_ = std::move(made);
    }
    if (is_halted_) parts_->communicators.abort();
    const RankWatch watch(parts_->communicators, all_.run_limit);
    parts_->try_and_prepare(all_, job_);
  }

  void run(RankRunner& runner, const Job& job, MessageType answer) {
    const Plan& plan = job.priced.plan;
    const RankWatch watch(parts_->communicators, all_.run_limit);
    RankRun run;
    try {
      run = run_rank(runner.executor, runner.own.items, parts_->clock);
      if (parts_->communicators.is_aborted()) throw NcclError("communication was aborted");
    } catch (const std::exception& error) {
      if (is_halted_) return fail("halted", "stopped");
      const std::string reason = watch.fault();
      const auto task = runner.unfinished();
      return fail(watch.is_late() ? "deadlock" : "transport",
                  fmt::format("{}{}{}", reason.empty() ? error.what() : reason,
                              task ? "; it was at " : "", task ? task_text(plan, *task) : ""));
    }
    if (run.wrong) {
      return fail("wrong_tensor",
                  fmt::format("{} brought {}", task_text(plan, *run.wrong),
                              run.brought ? "the tensor of " + task_text(plan, *run.brought)
                                          : std::string("no tensor of this run")));
    }
    control_.send(answer, body_of(run));
  }

  void abort() {
    is_halted_ = true;
    const std::lock_guard lock(mutex_);
    if (parts_) parts_->communicators.abort();
  }

  std::map<std::string, std::string> environment() const {
    const GpuWork work = all_.job->device.work;
    std::map<std::string, std::string> all =
        gpu_environment(parts_->device, parts_->clock.step_ns(), work, all_.sizes,
                        parts_->run->executor.actions().algorithms());
    all["partition_sms"] = all["sms"];
    int version = 0;
    if (all_.calls.nccl->get_version(&version) == 0) all["nccl"] = nccl_version_text(version);
    if (layer_kind_of(work) != nullptr) {
      all["tensors"] = parts_->run->own.carries_layers ? "what layers make, behind 16 bytes"
                                                       : "16 bytes: buffers for all are too large";
    }
    return all;
  }

  const RankJob& all_;
  Control& control_;
  MultiJob job_;
  std::atomic<bool> is_halted_ = false;
  std::atomic<bool> is_connecting_ = false;
  mutable std::mutex mutex_;  // guards the next three
  std::condition_variable idle_;
  bool is_busy_ = false;
  std::unique_ptr<RankParts> parts_;
  std::jthread worker_;  // last, so it ends before the members that it uses
};

}  // namespace

bool serve_rank(const RankJob& all, Control& control) {
  setenv("CUDA_VISIBLE_DEVICES", all.gpu.c_str(), 1);  // before the first call to the GPU
  if (all.shares_gpu) setenv("NCCL_MULTI_RANK_GPU_ENABLE", "1", 1);
  try {
    RankServer server(all, control);
    bool told = false;
    try {
      told = server.serve();
    } catch (const std::exception&) {
      told = false;  // the connection broke
    }
    server.stop(told);
    return told;
  } catch (const std::exception& error) {
    control.send(MessageType::broken, body_of(std::string(error.what())));
    return false;
  }
}

}  // namespace penstock
