/// Nanoseconds and bytes per op of lowering, pricing and relaxing the shared 1F1B case: F 1 ms, B 2
/// ms, 8 MiB activations and gradients, one link each way between neighbours with 25e9 bytes/s and
/// 2 us. An op is an action or a transfer.
#include <benchmark/benchmark.h>
#include <malloc.h>

#include <algorithm>
#include <cstdlib>
#include <new>
#include <utility>
#include <variant>

#include "experiments/program/bench/shared_case.hpp"
#include "sim/engines/events.hpp"
#include "sim/report/report.hpp"
#include "sim/timeline/peak_bytes.hpp"

namespace {
std::size_t heap_used = 0;  // bytes in use
std::size_t heap_peak = 0;  // the most since the last reset
}  // namespace

void* operator new(std::size_t size) {
  void* memory = std::malloc(size);
  if (memory == nullptr) throw std::bad_alloc();
  heap_used += malloc_usable_size(memory);
  heap_peak = std::max(heap_peak, heap_used);
  return memory;
}

void operator delete(void* memory) noexcept {
  heap_used -= malloc_usable_size(memory);
  std::free(memory);
}

void operator delete(void* memory, std::size_t /*size*/) noexcept { operator delete(memory); }

namespace penstock {
namespace {

Case case_of(const benchmark::State& state) {
  return shared_case(static_cast<std::uint32_t>(state.range(0)),
                     static_cast<std::uint32_t>(state.range(1)));
}

/// Shows the time of one op as "op", in seconds with an SI prefix.
void count_ops(benchmark::State& state, std::uint64_t ops) {
  state.counters["op"] =
      benchmark::Counter(static_cast<double>(ops) * static_cast<double>(state.iterations()),
                         benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
  state.counters["ops"] = static_cast<double>(ops);
}

void lowering(benchmark::State& state) {
  const Case of = case_of(state);
  std::uint64_t ops = 0;
  for (auto _ : state) ops = lowered(of).tasks();
  count_ops(state, ops);
}

void pricing(benchmark::State& state) {
  const Case of = case_of(state);
  const Plan plan = lowered(of);
  for (auto _ : state) benchmark::DoNotOptimize(priced(of, plan));
  count_ops(state, plan.tasks());
}

/// Repeats an engine, which gets its last timeline to fill, and counts ops.
template <class Engine>
Timeline repeated(benchmark::State& state, const PricedPlan& all, Engine engine) {
  Timeline timeline;
  for (auto _ : state) {
    timeline = engine(all, std::move(timeline));
    benchmark::DoNotOptimize(timeline.end.data());
  }
  count_ops(state, all.plan.tasks());
  return timeline;
}

Timeline events(const PricedPlan& all, Timeline last) {
  return std::get<Timeline>(run_events(all, std::move(last)));
}

/// As in a sweep: one plan, and one timeline whose memory is reused.
void relaxing(benchmark::State& state) {
  const Case of = case_of(state);
  const PricedPlan all = priced(of);
  const Timeline timeline = repeated(state, all, relax);
  state.counters["makespan_s"] = to_us(makespan(all.plan, timeline)) * 1e-6;
}

/// The same, with the engine chosen in every call.
void simulating(benchmark::State& state) {
  const PricedPlan all = priced(case_of(state));
  repeated(state, all, [](const PricedPlan& plan, Timeline last) {
    return std::get<Timeline>(simulate(plan, std::move(last)));
  });
}

/// The event engine on private links.
void running_events(benchmark::State& state) {
  const Case of = case_of(state);
  const PricedPlan all = priced(of);
  Timeline timeline;
  const std::size_t before = heap_used;
  heap_peak = heap_used;
  for (auto _ : state) {
    timeline = std::get<Timeline>(run_events(all, std::move(timeline)));
    benchmark::DoNotOptimize(timeline.end.data());
  }
  count_ops(state, all.plan.tasks());
  state.counters["peak_bytes_per_op"] =
      static_cast<double>(heap_peak - before) / static_cast<double>(all.plan.tasks());
  state.counters["makespan_s"] = to_us(makespan(all.plan, timeline)) * 1e-6;
}

/// The same, with every start and end as a separate event.
void running_stepwise(benchmark::State& state) {
  const Case of = case_of(state);
  PricedPlan all = priced(of);
  Conditions& conditions = all.conditions;
  conditions.sends_in_flight = UINT32_MAX;
  repeated(state, all, events);
}

/// Limits that are never reached: as much memory as the run takes, two transfers sent at a time.
void simulating_within_limits(benchmark::State& state) {
  PricedPlan all = priced(case_of(state));
  Timeline timeline = relax(all);
  const auto peaks = peak_bytes(all.plan, all.costs, timeline);
  all.conditions.stall_above_bytes = *std::max_element(peaks.begin(), peaks.end());
  all.conditions.sends_in_flight = 2;
  for (auto _ : state) {
    timeline = std::get<Timeline>(simulate(all, std::move(timeline)));
    benchmark::DoNotOptimize(timeline.end.data());
  }
  count_ops(state, all.plan.tasks());
}

/// All transfers share one link of 25e9 bytes/s. It is far too slow, so most pairs of ranks share
/// it at any time. An event is the start or end of a transfer.
void sharing_one_link(benchmark::State& state) {
  const Case of = case_of(state);
  PricedPlan all = priced(of);
  Conditions& conditions = all.conditions;
  conditions.network.links = {{"spine", 25e9, 2}};
  conditions.network.routes.assign(all.plan.links.size(), {0});
  const Timeline timeline = repeated(state, all, events);
  const double transfers = all.plan.tasks() - 2.0 * all.plan.ranks * all.plan.microbatches;
  state.counters["events_per_s"] = benchmark::Counter(
      2 * transfers * static_cast<double>(state.iterations()), benchmark::Counter::kIsRate);
  state.counters["makespan_s"] = to_us(makespan(all.plan, timeline)) * 1e-6;
}

void summarizing(benchmark::State& state) {
  const Case of = case_of(state);
  const PricedPlan all = priced(of);
  const Timeline timeline = relax(all);
  for (auto _ : state) benchmark::DoNotOptimize(summarize(all.plan, all.costs, timeline));
  count_ops(state, all.plan.tasks());
}

/// Lowering, pricing and relaxing from scratch, and the peak growth of the heap.
void all_three(benchmark::State& state) {
  const Case of = case_of(state);
  std::uint64_t ops = 0;
  const std::size_t before = heap_used;
  heap_peak = heap_used;
  for (auto _ : state) {
    const PricedPlan all = priced(of);
    benchmark::DoNotOptimize(relax(all));
    ops = all.plan.tasks();
  }
  count_ops(state, ops);
  state.counters["peak_bytes_per_op"] =
      static_cast<double>(heap_peak - before) / static_cast<double>(ops);
}

void sizes(benchmark::internal::Benchmark* benchmark) {
  benchmark->Args({16, 256})->Args({64, 1024})->Args({64, 4096})->Unit(benchmark::kMillisecond);
}
void sizes_to_ten_million(benchmark::internal::Benchmark* benchmark) {
  sizes(benchmark);
  benchmark->Args({64, 40'000});
}

BENCHMARK(lowering)->Apply(sizes);
BENCHMARK(pricing)->Apply(sizes);
BENCHMARK(relaxing)->Apply(sizes_to_ten_million);
BENCHMARK(simulating)->Apply(sizes);
BENCHMARK(running_events)->Apply(sizes_to_ten_million);
BENCHMARK(running_stepwise)->Apply(sizes);
BENCHMARK(simulating_within_limits)->Apply(sizes);
BENCHMARK(sharing_one_link)->Args({16, 256})->Args({64, 256})->Unit(benchmark::kMillisecond);
BENCHMARK(summarizing)->Apply(sizes);
BENCHMARK(all_three)->Apply(sizes_to_ten_million);

}  // namespace
}  // namespace penstock

BENCHMARK_MAIN();
