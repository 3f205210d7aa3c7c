/// One change at a time in a finished run of the shared 1F1B case, compared with a full run:
/// `times_quicker` is the time of a full pass of `relax` over the time of one change.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>
#include <stdexcept>
#include <utility>
#include <variant>

#include "experiments/program/bench/shared_case.hpp"
#include "sim/engines/relax.hpp"
#include "sim/rerun/rerun.hpp"

namespace penstock {
namespace {

using Clock = std::chrono::steady_clock;

Rerun finished_run(std::uint32_t ranks, std::uint32_t microbatches) {
  const Case of = shared_case(ranks, microbatches);
  PricedPlan all = priced(of);
  Timeline timeline = relax(all);
  return {std::move(all), std::move(timeline)};
}

/// Seconds of a full pass, the best of a few.
double full_pass_s(const Rerun& rerun) {
  Timeline timeline;
  double best = 1e9;
  for (int i = 0; i < 20; ++i) {
    const auto start = Clock::now();
    timeline = relax(rerun.priced(), std::move(timeline));
    best = std::min(best, std::chrono::duration<double>(Clock::now() - start).count());
  }
  return best;
}

TaskId task_at(const Rerun& rerun, std::uint32_t rank, std::uint32_t place) {
  const ResourceOrders orders = resource_orders(rerun.plan());
  return orders.tasks[orders.first[rank] + place];
}

Action action_at(const Rerun& rerun, std::uint32_t rank, std::uint32_t place) {
  const TaskId task = task_at(rerun, rank, place);
  const WorkClass& work = rerun.plan().class_of(task);
  return {work.pass, work.stage, rerun.plan().microbatch[task]};
}

/// Calls `change(rerun, odd)` repeatedly, with `odd` alternating.
template <class Change>
void measure(benchmark::State& state, Change change) {
  Rerun rerun = finished_run(static_cast<std::uint32_t>(state.range(0)),
                             static_cast<std::uint32_t>(state.range(1)));
  const double full_s = full_pass_s(rerun);
  bool odd = false;
  std::uint64_t looked_at = 0;
  const auto start = Clock::now();
  for (auto _ : state) {
    odd = !odd;
    const Rerun::Answer answer = change(rerun, odd);
    if (!std::holds_alternative<Rerun::Done>(answer)) throw std::logic_error("not changed");
    looked_at = std::get<Rerun::Done>(answer).looked_at;
  }
  const double spent_s = std::chrono::duration<double>(Clock::now() - start).count();
  state.counters["looked_at"] = static_cast<double>(looked_at);
  state.counters["full_us"] = full_s * 1e6;
  state.counters["times_quicker"] = full_s * static_cast<double>(state.iterations()) / spent_s;
}

Time ms(std::int64_t milliseconds) { return {milliseconds * 1'000'000'000}; }

/// The tenth action of the middle rank before its last one.
void task_near_the_end(benchmark::State& state) {
  const auto middle = static_cast<std::uint32_t>(state.range(0) / 2);
  const auto place = 2 * static_cast<std::uint32_t>(state.range(1)) - 11;
  TaskId task = no_task;
  measure(state, [&](Rerun& rerun, bool odd) {
    if (task == no_task) task = task_at(rerun, middle, place);
    return rerun.set_task_duration(task, odd ? ms(3) : ms(2));
  });
}

/// All F's of the middle stage get longer: everything after them moves.
void class_of_the_middle(benchmark::State& state) {
  const auto middle = static_cast<std::uint32_t>(state.range(0) / 2);
  std::uint32_t work = UINT32_MAX;
  measure(state, [&](Rerun& rerun, bool odd) {
    if (work == UINT32_MAX) work = rerun.plan().work[task_at(rerun, middle, 0)];
    return rerun.set_duration(work, odd ? ms(2) : ms(1));
  });
}

/// Two neighbouring actions of the middle rank, `before_end` actions before its end.
template <std::uint32_t before_end>
void swap_of_neighbours(benchmark::State& state) {
  const auto middle = static_cast<std::uint32_t>(state.range(0) / 2);
  const auto place = 2 * static_cast<std::uint32_t>(state.range(1)) - before_end;
  const Placement placement = shared_case(middle * 2, 1).placement;
  std::vector<Action> actions;
  measure(state, [&](Rerun& rerun, bool) {
    if (actions.empty()) {
      actions = {action_at(rerun, middle, place), action_at(rerun, middle, place + 1)};
    }
    std::swap(actions[0], actions[1]);
    return rerun.reorder({Rank{middle}, place, actions}, placement);
  });
}

void sizes(benchmark::internal::Benchmark* benchmark) {
  benchmark->Args({64, 1024})->Args({64, 4096})->Unit(benchmark::kMicrosecond);
}

BENCHMARK(task_near_the_end)->Apply(sizes);
BENCHMARK(class_of_the_middle)->Apply(sizes);
BENCHMARK(swap_of_neighbours<80>)->Apply(sizes);
BENCHMARK(swap_of_neighbours<1024>)->Apply(sizes);

}  // namespace
}  // namespace penstock
