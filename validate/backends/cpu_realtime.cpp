#include <fmt/format.h>
#include <fmt/ranges.h>

#include "validate/backends/registry.hpp"
#include "validate/machine/cores.hpp"
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

/// One core per rank, in real time.
class CpuRealtime : public Backend {
 public:
  explicit CpuRealtime(const Job& job)
      : ranks_(job.priced.plan.ranks),
        cores_(usable_cores().numbers),
        line_(ranks_, 50'000),
        rings_(boxes_of(job), ranks_, patience_for(job)),
        runner_(job, rings_, clocks()) {
    cores_.resize(ranks_);
  }

  std::vector<Time> profile() override { return runner_.profile(); }
  RunOutcome run() override {
    watch_.begin();
    auto outcome = runner_.run();
    watch_.end(readings_of(runner_, {0, ranks_}));
    return outcome;
  }
  std::optional<TrainedNumbers> numbers() const override { return runner_.numbers(); }
  TimesOfLayers layer_times() const override { return runner_.layer_times(); }
  std::optional<CodingNumbers> coding() const override { return runner_.coding(); }
  std::vector<std::string> disturbances() const override { return watch_.disturbances(); }
  std::map<std::string, std::string> environment() const override {
    std::map<std::string, std::string> all = host_environment();
    all["backend"] = "cpu_realtime";
    all["clock"] = "real time, of spinning threads";
    all["load"] = load_text();
    all["links"] = "rings in shared memory";
    all["pinned_to_cores"] = fmt::format("{}", fmt::join(cores_, ","));
    return all;
  }

 private:
  std::vector<SpinningClock> clocks() {
    std::vector<SpinningClock> all;
    for (std::uint32_t rank = 0; rank < ranks_; ++rank) all.emplace_back(line_, cores_[rank]);
    return all;
  }

  std::uint32_t ranks_;
  std::vector<int> cores_;  // by rank
  StartLine line_;
  RingTransport rings_;
  RankRunner<SpinningClock> runner_;
  QuietWatch watch_;
};

std::optional<Obstacle> obstacle(const PricedPlan& priced) {
  if (auto found = apart_obstacle(priced)) return found;
  auto why = why_no_core_each(priced.plan.ranks, 1, usable_cores());
  if (!why) return std::nullopt;
  return Obstacle{true, *std::move(why)};
}

std::unique_ptr<Backend> make(const Job& job) { return std::make_unique<CpuRealtime>(job); }

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
    .make = make,
    .length = length,
    .wall_clock = true,
};

}  // namespace penstock::cpu_realtime_file
