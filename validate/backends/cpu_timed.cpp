#include <fmt/format.h>

#include "validate/backends/registry.hpp"
#include "validate/machine/host.hpp"
#include "validate/ranks/rank_clocks.hpp"
#include "validate/ranks/rank_runner.hpp"
#include "validate/statistics/summary.hpp"
#include "validate/transports/mailboxes.hpp"

namespace penstock::cpu_timed_file {
namespace {

/// Threads that sleep for the duration of their actions, in real time.
class CpuTimed : public RankRunner<SleepingClock> {
 public:
  explicit CpuTimed(const Job& job)
      : CpuTimed(job, std::make_unique<StartLine>(job.priced.plan.ranks, 200'000)) {}
  CpuTimed(const Job& job, const RunPart& part)
      : RankRunner(job, part.transport, clocks(job, part.line), part.ranks), job_(job) {}

  std::vector<Time> profile() override;
  RunOutcome run() override;
  std::vector<std::string> disturbances() const override { return watch_.disturbances(); }
  std::map<std::string, std::string> environment() const override;

 private:
  CpuTimed(const Job& job, std::unique_ptr<StartLine> line)
      : RankRunner(job, std::make_unique<Mailboxes>(boxes_of(job), job.priced.plan.ranks),
                   clocks(job, *line)),
        job_(job),
        line_(std::move(line)) {}
  static std::vector<SleepingClock> clocks(const Job& job, StartLine& line) {
    return std::vector<SleepingClock>(job.priced.plan.ranks, SleepingClock(line));
  }

  const Job& job_;
  std::unique_ptr<StartLine> line_;  // none when given from outside
  bool a_core_each_ = !why_no_core_each(job_.priced.plan.ranks, 1, usable_cores());
  QuietWatch watch_;
  std::vector<double> wakes_ns_;  // oversleep of each sleep in a profile
};

std::vector<Time> CpuTimed::profile() {
  std::vector<Time> times = RankRunner::profile();
  for (std::size_t c = 0; c < times.size(); ++c) {
    const WorkClass& work = job_.priced.plan.classes[c];
    if (!group().contains(work.resource) || work.follows_partner) continue;
    wakes_ns_.push_back(static_cast<double>(to_ns(times[c]) - job_.work_ns(c)));
  }
  return times;
}

/// Ranks may share cores: the canary runs before and after them, and preemption by each other says
/// nothing about the machine.
RunOutcome CpuTimed::run() {
  ThreadReadings canary{.canary_before_ns = canary_ns()};
  watch_.begin();
  auto outcome = RankRunner::run();
  canary.canary_after_ns = canary_ns();
  std::vector<ThreadReadings> seen;
  if (a_core_each_) seen = readings();
  seen.push_back(canary);
  watch_.end(std::move(seen));
  return outcome;
}

std::map<std::string, std::string> CpuTimed::environment() const {
  std::map<std::string, std::string> all = host_environment();
  all["backend"] = "cpu_timed";
  all["clock"] = "real time, of sleeping threads";
  all["load"] = load_text();
  all["t_wake_us"] = fmt::format("{:.1f}", median(wakes_ns_) * 1e-3);
  return all;
}

/// Far longer than a wake-up.
JobLength length(std::uint32_t ranks) {
  return {.mean_action_ns = 2'000'000,
          .most_work_ns = std::int64_t{250'000'000} * ranks,
          .most_tensor_words = 32};
}

}  // namespace

constinit extern const BackendEntry cpu_timed_entry{
    .name = "cpu_timed",
    .summary = "one thread per rank that sleeps for each action, real time, any number of ranks",
    .obstacle = apart_obstacle,
    .sleeps = true,
    .make = made<CpuTimed>,
    .length = length,
    .wall_clock = true,
    .make_part = made<CpuTimed>,
};

}  // namespace penstock::cpu_timed_file
