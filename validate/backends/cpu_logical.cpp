#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "validate/backends/registry.hpp"
#include "validate/busy_body.hpp"
#include "validate/busy_kernel.hpp"
#include "validate/host.hpp"
#include "validate/rank_program.hpp"
#include "validate/rank_threads.hpp"
#include "validate/recorder.hpp"
#include "validate/transports/mailboxes.hpp"

namespace penstock {
namespace {

constexpr std::uint32_t most_ranks = 256;
constexpr std::uint32_t most_tasks = 200'000;
std::vector<std::uint32_t> tasks_by_rank(const std::vector<RankProgram>& programs) {
  std::vector<std::uint32_t> tasks;
  for (const RankProgram& program : programs) {
    std::size_t count = 0;
    for (const Step& step : program) count += 1 + step.sends.size();
    tasks.push_back(static_cast<std::uint32_t>(count));
  }
  return tasks;
}

/// A box for each transfer, at its task.
std::vector<BoxSpec> boxes_of(const std::vector<RankProgram>& programs, std::uint32_t tasks,
                              std::size_t words) {
  std::vector<BoxSpec> boxes(tasks);
  for (std::uint32_t rank = 0; rank < programs.size(); ++rank) {
    for (const Step& step : programs[rank]) {
      for (const Sending& sending : step.sends) {
        boxes[sending.transfer] = {rank, sending.reader, words};
      }
    }
  }
  return boxes;
}

/// A thread a rank, each with a logical clock: an action takes what its thread was busy, however
/// often others had the core meanwhile, and starts when its rank and all of its inputs are there.
class CpuLogical : public Backend {
 public:
  explicit CpuLogical(const Job& job)
      : job_(job),
        programs_(rank_programs(job.plan)),
        steps_(busy_steps(job)),
        mailboxes_(boxes_of(programs_, job.plan.tasks(), busy_tensor_words(job)), job.plan.ranks),
        recorder_(tasks_by_rank(programs_)),
        ranks_(job.plan.ranks),
        link_free_ns_(job.plan.links.size()) {
    for (RankState& rank : ranks_) rank.kept.resize(busy_tensor_words(job));
    for (std::uint32_t rank = 0; rank < job.plan.ranks; ++rank) {
      bodies_.emplace_back(job.plan, steps_, busy_tensor_words(job));
    }
  }

  std::vector<std::int64_t> profile() override;
  std::variant<Iteration, RunFault> run() override;
  std::map<std::string, std::string> environment() const override;

 private:
  struct alignas(64) RankState {
    std::int64_t clock_ns = 0;
    TaskId at = 0;                    // its action
    std::vector<std::uint64_t> kept;  // what comes back from where it was put out
    std::string fault;                // of a tensor that came
  };

  void on_all_ranks(const std::function<void(std::uint32_t)>& work);
  void run_rank(std::uint32_t rank);
  bool receive(std::uint32_t rank, const Step& step);
  void compute(std::uint32_t rank, const Step& step);
  bool send(std::uint32_t rank, const Step& step);
  bool send_back(std::uint32_t rank, const Sending& sending, Message message);
  void transmit(std::uint32_t rank, const Sending& sending, Message message,
                std::span<const std::uint64_t> words);
  RunFault deadlock_fault() const;
  std::optional<RunFault> fault() const;

  const Job& job_;
  std::vector<RankProgram> programs_;
  std::vector<std::uint64_t> steps_;  // by work class
  Mailboxes mailboxes_;
  Recorder recorder_;
  std::vector<RankState> ranks_;
  std::vector<BusyBody> bodies_;            // by rank
  std::vector<std::int64_t> link_free_ns_;  // by link; the sender's own
  std::uint32_t iteration_ = 0;
};

void CpuLogical::on_all_ranks(const std::function<void(std::uint32_t)>& work) {
  penstock::on_all_ranks(job_.plan.ranks, work, [this] { mailboxes_.halt(); });
}

/// All ranks at once, as in a run: what cores share slows profile and run alike.
std::vector<std::int64_t> CpuLogical::profile() {
  std::vector<std::int64_t> ns = job_.work_ns;
  on_all_ranks([&](std::uint32_t rank) {
    for (std::size_t c = 0; c < ns.size(); ++c) {
      if (job_.plan.classes[c].resource != rank) continue;
      const std::int64_t begin = thread_cpu_ns();
      bodies_[rank].perform_class(static_cast<std::uint32_t>(c));
      ns[c] = thread_cpu_ns() - begin;
    }
  });
  return ns;
}

std::variant<Iteration, RunFault> CpuLogical::run() {
  mailboxes_.clear();
  recorder_.clear();
  std::fill(link_free_ns_.begin(), link_free_ns_.end(), 0);
  for (RankState& rank : ranks_) {
    rank.clock_ns = 0;
    rank.fault.clear();
  }
  for (BusyBody& body : bodies_) body.begin();
  on_all_ranks([this](std::uint32_t rank) { run_rank(rank); });
  ++iteration_;
  if (auto found = fault()) return *found;
  return recorder_.by_task(job_.plan.tasks());
}

void CpuLogical::run_rank(std::uint32_t rank) {
  for (const Step& step : programs_[rank]) {
    ranks_[rank].at = step.task;
    if (!receive(rank, step)) return;
    compute(rank, step);
    if (!send(rank, step)) return;
  }
  mailboxes_.finish(rank);
}

/// Waits for what the step reads; says whether it may go on.
bool CpuLogical::receive(std::uint32_t rank, const Step& step) {
  RankState& state = ranks_[rank];
  for (const Reading& reading : step.reads) {
    const std::span<std::uint64_t> room = bodies_[rank].room(reading);
    const auto message = mailboxes_.take(reading.transfer, room);
    if (!message) return false;
    TensorLabel expected = reading.expected;
    expected.iteration = iteration_;
    if (auto wrong = tensor_fault(*message, room, expected)) {
      state.fault =
          fmt::format("before {} on rank {}: {}", task_text(job_.plan, step.task), rank, *wrong);
      mailboxes_.halt();
      return false;
    }
    bodies_[rank].take_in(reading);
    state.clock_ns = std::max(state.clock_ns, message->arrival_ns);
  }
  return true;
}

void CpuLogical::compute(std::uint32_t rank, const Step& step) {
  RankState& state = ranks_[rank];
  const std::int64_t begin = thread_cpu_ns();
  bodies_[rank].perform(step);
  const std::int64_t took = thread_cpu_ns() - begin;
  recorder_.add(rank, step.task, {state.clock_ns, state.clock_ns + took});
  state.clock_ns += took;
}

/// Says whether the run goes on.
bool CpuLogical::send(std::uint32_t rank, const Step& step) {
  for (const Sending& sending : step.sends) {
    Message message{step.makes, 0, ranks_[rank].clock_ns};
    if (sending.brings_back != no_task) {
      if (!send_back(rank, sending, message)) return false;
      continue;
    }
    const std::span<const std::uint64_t> made = bodies_[rank].made(step);
    message.label.iteration = iteration_;
    message.sum = checksum(made);
    transmit(rank, sending, message, made);
  }
  return true;
}

/// What was put out earlier, once it is all there. Says whether the run goes on.
bool CpuLogical::send_back(std::uint32_t rank, const Sending& sending, Message message) {
  const auto kept = mailboxes_.take(sending.brings_back, ranks_[rank].kept);
  if (!kept) return false;
  message = Message{kept->label, kept->sum, std::max(message.arrival_ns, kept->arrival_ns)};
  transmit(rank, sending, message, ranks_[rank].kept);
  return true;
}

/// Links serve first come first served, and only this rank asks for this one. `message` says when
/// the tensor is ready.
void CpuLogical::transmit(std::uint32_t rank, const Sending& sending, Message message,
                          std::span<const std::uint64_t> words) {
  const std::uint32_t work = job_.plan.work[sending.transfer];
  std::int64_t& free = link_free_ns_[sending.link];
  const std::int64_t begin = std::max(free, message.arrival_ns);
  free = begin + job_.work_ns[work];
  message.arrival_ns = free + job_.latency_ns[work];
  recorder_.add(rank, sending.transfer, {begin, message.arrival_ns});
  mailboxes_.post(sending.transfer, message, words);
}

/// Names every rank that waits, and what for.
RunFault CpuLogical::deadlock_fault() const {
  RunFault fault{"deadlock", Rank{0}, "deadlock:"};
  const auto& stuck = mailboxes_.deadlock();
  bool first = true;
  for (std::uint32_t rank = 0; rank < stuck.size(); ++rank) {
    if (!stuck[rank]) continue;
    if (first) fault.rank = Rank{rank};
    const auto awaited = static_cast<TaskId>(*stuck[rank]);
    fault.text +=
        fmt::format("{} {} of rank {} waits for {}", first ? "" : ";",
                    task_text(job_.plan, ranks_[rank].at), rank, task_text(job_.plan, awaited));
    first = false;
  }
  return fault;
}

std::optional<RunFault> CpuLogical::fault() const {
  for (std::uint32_t rank = 0; rank < ranks_.size(); ++rank) {
    if (ranks_[rank].fault.empty()) continue;
    return RunFault{"wrong_tensor", Rank{rank}, ranks_[rank].fault};
  }
  if (!mailboxes_.deadlock().empty()) return deadlock_fault();
  return std::nullopt;
}

std::map<std::string, std::string> CpuLogical::environment() const {
  std::map<std::string, std::string> all = host_environment();
  all["backend"] = "cpu_logical";
  all["clock"] = "thread CPU time, message stamps";
  return all;
}

std::optional<Obstacle> obstacle(const Plan& plan) {
  if (auto reason = why_no_programs(plan)) return Obstacle{.of_machine = false, .text = *reason};
  if (plan.ranks > most_ranks) {
    return Obstacle{
        true, fmt::format("{} ranks, each a thread; {} are the most", plan.ranks, most_ranks)};
  }
  if (plan.tasks() > most_tasks) {
    return Obstacle{
        true, fmt::format("{} actions and transfers; {} are the most", plan.tasks(), most_tasks)};
  }
  return std::nullopt;
}

std::unique_ptr<Backend> make(const Job& job) { return std::make_unique<CpuLogical>(job); }

}  // namespace

constinit extern const BackendEntry cpu_logical_entry{
    .name = "cpu_logical",
    .summary = "a thread a rank on any number of cores, timed by logical clocks",
    .obstacle = obstacle,
    .make = make,
};

}  // namespace penstock
