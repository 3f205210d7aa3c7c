/// Configurations a second of a sweep on one core, with their rows: 1F1B on 8 ranks with 64
/// microbatches and changing costs, and changing schedules, ranks and microbatches. `of_limit` is
/// the time of the bare longest path over the same tasks, in the same run, over that of a
/// configuration.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "experiments/input/catalogue/catalogue.hpp"
#include "experiments/plan/sweeps/run_sweep.hpp"
#include "experiments/plan/sweeps/space/condition.hpp"
#include "experiments/plan/sweeps/space/sweep_space.hpp"
#include "experiments/program/bench/shared_case.hpp"

namespace penstock {
namespace {

using nlohmann::json;

json stages(std::size_t count) {
  json all = json::array();
  for (std::size_t i = 0; i < count; ++i) {
    all.push_back({{"forward_us", 1000},
                   {"backward_input_us", 1000},
                   {"backward_weight_us", 1000},
                   {"activation_bytes", 8388608},
                   {"stash_bytes", 268435456}});
  }
  return all;
}

json scenario(json model, std::uint32_t microbatches) {
  return {{"model", std::move(model)},
          {"hardware", {{"name", "ideal"}, {"latency_us", 2}, {"bandwidth_bytes_per_s", 25e9}}},
          {"schedule", {{"name", "1f1b"}, {"microbatches", microbatches}}}};
}

SweepSpace space_of(json base, const std::vector<std::string>& axes) {
  SweepRequest request{.source = "bench.json", .base = std::make_shared<json>(std::move(base))};
  for (const std::string& axis : axes) request.axes.push_back(axes_of(axis).front());
  return SweepSpace(std::move(request));
}

/// The sum of all rows' sizes.
std::size_t bytes_of_rows(const SweepSpace& space, const Catalogue& catalogue) {
  std::size_t bytes = 0;
  run_sweep(space, catalogue,
            {.shard = {}, .done = 0, .jobs = 1, .asked_to_stop = {}, .on_progress = {}},
            [&](std::string_view rows) { bytes += rows.size(); });
  return bytes;
}

/// The longest path over the tasks of a plan with its inputs and rows as flat lists: what any
/// simulation of it costs at least.
class BarePath {
 public:
  explicit BarePath(const PricedPlan& priced) : end_(priced.plan.tasks()) {
    const Plan& plan = priced.plan;
    std::vector<TaskId> last(plan.resources(), no_task);
    for (TaskId task = 0; task < plan.tasks(); ++task) {
      const std::uint32_t resource = plan.class_of(task).resource;
      const TaskId input = plan.input[task];
      tasks_.push_back({priced.costs.duration_of(plan, task), last[resource],
                        input == no_task || (input & Plan::several) == 0 ? input : no_task});
      last[resource] = task;
    }
  }
  Time run() {
    Time makespan{};
    for (TaskId task = 0; task < end_.size(); ++task) {
      const Task& one = tasks_[task];
      Time begin{};
      if (one.before != no_task) begin = end_[one.before];
      if (one.input != no_task) begin = std::max(begin, end_[one.input]);
      end_[task] = begin + one.duration;
      makespan = std::max(makespan, end_[task]);
    }
    return makespan;
  }

 private:
  struct Task {
    Time duration;
    TaskId before, input;
  };
  std::vector<Task> tasks_;
  std::vector<Time> end_;
};

/// CPU seconds of some work.
template <class Work>
double cpu_seconds(Work work) {
  const std::clock_t begin = std::clock();
  work();
  return static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
}

void count_configurations(benchmark::State& state, const SweepSpace& space, std::size_t bytes) {
  const double all = static_cast<double>(space.size()) * static_cast<double>(state.iterations());
  state.counters["configurations_per_s"] = benchmark::Counter(all, benchmark::Counter::kIsRate);
  state.counters["bytes_per_row"] = static_cast<double>(bytes) / static_cast<double>(space.size());
}

void sweeping_costs(benchmark::State& state) {
  const Catalogue catalogue = read_catalogue();
  const SweepSpace space = space_of(
      scenario({{"stages", stages(8)}}, 64),
      {"/model/stages/3/forward_us=900..1100:4", "/hardware/bandwidth_bytes_per_s=1e9..4e10:1e9"});
  BarePath path(priced(shared_case(8, 64)));
  constexpr int paths = 20'000;
  std::size_t bytes = 0;
  double swept_s = 0, bare_s = 0;
  for (auto _ : state) {
    swept_s += cpu_seconds([&] { bytes = bytes_of_rows(space, catalogue); });
    state.PauseTiming();
    bare_s += cpu_seconds([&] {
      for (int i = 0; i < paths; ++i) benchmark::DoNotOptimize(path.run());
    });
    state.ResumeTiming();
  }
  count_configurations(state, space, bytes);
  state.counters["of_limit"] = (bare_s / paths) / (swept_s / static_cast<double>(space.size()));
}

void sweeping_orders(benchmark::State& state) {
  const Catalogue catalogue = read_catalogue();
  json model{{"layers", {stages(1)[0]}}};
  model["layers"][0]["repeat"] = 16;
  const SweepSpace space = space_of(scenario(std::move(model), 64),
                                    {"/schedule/name=gpipe,1f1b,zb-h1", "/hardware/devices=2..16*2",
                                     "/schedule/microbatches=8..64:8"});
  std::size_t bytes = 0;
  for (auto _ : state) bytes = bytes_of_rows(space, catalogue);
  count_configurations(state, space, bytes);
}

BENCHMARK(sweeping_costs)->Unit(benchmark::kMillisecond);
BENCHMARK(sweeping_orders)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace penstock
