#include <fmt/format.h>
#include <fmt/ranges.h>

#include "validate/backends/registry.hpp"
#include "validate/machine/host.hpp"
#include "validate/ranks/rank_clocks.hpp"
#include "validate/ranks/rank_runner.hpp"
#include "validate/transports/rings.hpp"

namespace penstock::cpu_realtime_file {
namespace {

/// Far longer than any wait: 20 times all actions and transfers together.
RingLimits patience_for(const Job& job) {
  RingLimits limits;
  for (TaskId task = 0; task < job.priced.plan.tasks(); ++task) {
    limits.patience_ns += 20 * (job.task_ns(task) + job.task_latency_ns(task));
  }
  return limits;
}

/// By rank.
std::vector<int> cores_for(std::uint32_t ranks) {
  std::vector<int> cores = usable_cores().numbers;
  cores.resize(ranks);
  return cores;
}

/// One core per rank, in real time.
class CpuRealtime : public RankRunner<SpinningClock> {
 public:
  explicit CpuRealtime(const Job& job)
      : CpuRealtime(job, std::make_unique<StartLine>(job.priced.plan.ranks, 50'000)) {}

  RunOutcome run() override {
    watch_.begin();
    auto outcome = RankRunner::run();
    watch_.end(readings());
    return outcome;
  }
  std::vector<std::string> disturbances() const override { return watch_.disturbances(); }
  std::map<std::string, std::string> environment() const override {
    std::map<std::string, std::string> all = host_environment();
    all["backend"] = "cpu_realtime";
    all["clock"] = "real time, of spinning threads";
    all["load"] = load_text();
    all["links"] = "rings in shared memory";
    all["pinned_to_cores"] = fmt::format("{}", fmt::join(cores_for(group().size()), ","));
    return all;
  }

 private:
  CpuRealtime(const Job& job, std::unique_ptr<StartLine> line)
      : RankRunner(job,
                   std::make_unique<RingTransport>(boxes_of(job), job.priced.plan.ranks,
                                                   patience_for(job)),
                   clocks(*line, job.priced.plan.ranks)),
        line_(std::move(line)) {}
  static std::vector<SpinningClock> clocks(StartLine& line, std::uint32_t ranks) {
    std::vector<SpinningClock> all;
    for (const int core : cores_for(ranks)) all.emplace_back(line, core);
    return all;
  }

  std::unique_ptr<StartLine> line_;
  QuietWatch watch_;
};

std::optional<Obstacle> obstacle(const PricedPlan& priced) {
  if (auto found = apart_obstacle(priced)) return found;
  auto why = why_no_core_each(priced.plan.ranks, 1, usable_cores());
  if (!why) return std::nullopt;
  return Obstacle{true, *std::move(why)};
}

/// Far longer than handing over a tensor, yet short enough to finish before others want the cores.
JobLength length(std::uint32_t ranks) {
  return {.mean_action_ns = 250'000,
          .most_work_ns = std::int64_t{30'000'000} * ranks,
          .most_tensor_words = 32};
}

}  // namespace

constinit extern const BackendEntry cpu_realtime_entry{
    .name = "cpu_realtime",
    .summary = "one core per rank, rings in shared memory, real time on a quiet machine",
    .obstacle = obstacle,
    .runs_layers = true,
    .make = made<CpuRealtime>,
    .length = length,
    .wall_clock = true,
};

}  // namespace penstock::cpu_realtime_file
