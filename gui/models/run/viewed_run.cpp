#include "gui/models/run/viewed_run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <utility>

#include "experiments/input/files/table.hpp"
#include "experiments/run/recordings.hpp"
#include "experiments/run/run.hpp"
#include "experiments/show/results/result_table.hpp"
#include "experiments/show/results/run_summary.hpp"
#include "sim/base/error.hpp"
#include "sim/report/overview.hpp"

namespace penstock {
namespace {

ViewedRunPtr unfinished_run(RunResult result, std::shared_ptr<const Scenario> scenario) {
  auto run = std::make_shared<ViewedRun>();
  run->unfinished.emplace(result);
  run->text = result_table(result);
  run->source = result.layout.source;
  run->title = std::move(result.title);
  run->plan.schedule = result.layout.name;
  run->plan.ranks = result.layout.placement.ranks();
  run->report.ranks.resize(run->plan.ranks);
  run->capacity_bytes = result.layout.memory.capacity_bytes;
  run->scenario = std::move(scenario);
  run->layout = std::make_shared<const Layout>(std::move(result.layout));
  return run;
}

ViewedRunPtr viewed_result(RunResult result, std::shared_ptr<const Scenario> scenario) {
  if (!result.plan) throw UnfinishedRun(result);
  auto run = std::make_shared<ViewedRun>();
  run->text = result_table(result);
  run->memory = std::move(result.memory);
  run->source = result.layout.source;
  run->title = std::move(result.title);
  run->plan = std::move(*result.plan);
  run->timeline = std::move(result.timeline);
  run->costs = std::move(result.costs);
  run->conditions = std::move(result.conditions);
  run->report = std::move(*result.report);
  run->capacity_bytes = result.layout.memory.capacity_bytes;
  run->mfu = result.throughput.model_flops_utilization;
  if (const auto& batch = result.batch) {
    run->microbatches = std::make_shared<const ReplicaBatch>(batch->batch.replicas[batch->slowest]);
  }
  run->scenario = std::move(scenario);
  run->layout = std::make_shared<const Layout>(std::move(result.layout));
  return run;
}

/// The durations of a recording as costs. When its transfers left is unknown: they occupy their
/// links until they arrive.
Costs costs_of(const Plan& plan, const Timeline& timeline) {
  Costs costs;
  costs.duration.resize(plan.classes.size());
  costs.latency.resize(plan.classes.size());
  costs.bytes.resize(plan.buffers.size());
  costs.task_duration.reserve(plan.tasks());
  for (TaskId task = 0; task < plan.tasks(); ++task) {
    costs.task_duration.push_back(timeline.end[task] - timeline.begin[task]);
  }
  costs.task_latency.resize(plan.tasks());
  return costs;
}

std::string recorded_text(const ViewedRun& run) {
  const Bubble& bubble = run.report.bubble;
  const TimeUnit unit = unit_for(run.report.makespan);
  std::string text = fmt::format("{}\n\n{:<12} {} {}\n", run.title, makespan_name(run.plan),
                                 time_text(run.report.makespan, unit), unit.name);
  if (!is_lanes(run)) {
    text += fmt::format("{:<12} {:.1f} % of {}, {:.1f} % over ideal\n", "bubble",
                        100 * bubble.of_makespan, makespan_name(run.plan), 100 * bubble.over_ideal);
  }
  for (const auto& [key, value] : run.timeline.environment) {
    text += fmt::format("{:<12} {}\n", key, value);
  }
  return text;
}

}  // namespace

ViewedRunPtr viewed(std::shared_ptr<const Scenario> scenario) {
  RunResult result = run(*scenario);
  return viewed_result(std::move(result), std::move(scenario));
}

ViewedRunPtr viewed_if_finished(std::shared_ptr<const Scenario> scenario) {
  RunResult result = run(*scenario);
  return result.plan ? viewed_result(std::move(result), std::move(scenario))
                     : unfinished_run(std::move(result), std::move(scenario));
}

ViewedRunPtr viewed(const Scenario& scenario) {
  return viewed(std::make_shared<const Scenario>(scenario));
}

ViewedRunPtr viewed(Layout layout, std::shared_ptr<const Scenario> scenario) {
  return viewed_result(run(std::move(layout)), std::move(scenario));
}

ViewedRunPtr viewed_after(Chain& chain, Scenario scenario) {
  auto kept = std::make_shared<const Scenario>(std::move(scenario));
  Layout layout = chain.layout(*kept);
  if (!layout.codec.phases.empty()) return viewed(std::move(layout), std::move(kept));
  auto outcome = chain.simulate_settled(layout);
  if (std::holds_alternative<Finding>(outcome)) return viewed(std::move(kept));
  auto& [priced, timeline, peak_flops, batch, replica] = std::get<Simulated>(outcome);
  auto run = std::make_shared<ViewedRun>();
  run->brief = true;
  run->source = layout.source;
  run->title = title_of(layout);
  run->plan = std::move(priced.plan);
  run->costs = std::move(priced.costs);
  run->conditions = std::move(priced.conditions);
  run->timeline = std::move(timeline);
  run->report = summarize_times(run->plan, run->timeline);
  run->capacity_bytes = layout.memory.capacity_bytes;
  run->mfu = throughput_of(layout, batch, run->plan, run->report.makespan, peak_flops)
                 .model_flops_utilization;
  run->scenario = std::move(kept);
  run->layout = std::make_shared<const Layout>(std::move(layout));
  return run;
}

ViewedRunPtr viewed(Recording recording, std::string source,
                    std::shared_ptr<const RecordedIterations> iterations,
                    std::vector<std::string> files) {
  auto run = std::make_shared<ViewedRun>();
  run->source = std::move(source);
  run->files = std::move(files);
  run->title = recording.title.empty() ? recording.plan.schedule : std::move(recording.title);
  if (iterations != nullptr) run->title += fmt::format(", step {}", recording.timeline.iteration);
  run->iterations = std::move(iterations);
  run->plan = std::move(recording.plan);
  run->timeline = std::move(recording.timeline);
  Costs costs = costs_of(run->plan, run->timeline);
  run->report = summarize(run->plan, costs, run->timeline);
  // A recording has the sum of all kinds of memory over time.
  for (const MemorySample& sample : run->timeline.memory) {
    MemoryPeak& peak = run->report.ranks[index(sample.rank)].memory;
    if (sample.bytes > peak.bytes) peak = {.bytes = sample.bytes, .time = sample.time};
  }
  // Arrays by task are made anew by who needs them; there are many tasks.
  run->text = recorded_text(*run);
  run->costs = std::move(costs);
  run->costs.task_duration = {};
  run->costs.task_latency = {};
  return run;
}

ViewedRunPtr viewed_part(std::shared_ptr<const LargeTimeline> file, std::string source, Time from,
                         Time until) {
  auto run = std::make_shared<ViewedRun>();
  const auto [first, end] = file->tasks_between(from, until);
  Recording part = file->part(first, end);
  run->source = std::move(source);
  run->title = part.title.empty() ? part.plan.schedule : std::move(part.title);
  run->plan = std::move(part.plan);
  run->timeline = std::move(part.timeline);
  run->costs = costs_of(run->plan, run->timeline);
  run->costs.task_duration = {};
  run->costs.task_latency = {};
  run->report = report_of(file->overview());
  run->text =
      recorded_text(*run) +
      fmt::format("\n{}, read in parts: lists, search and bubbles are of the part in sight\n",
                  counted(file->tasks(), "task"));
  run->first_task = first;
  run->from = from;
  run->until = until;
  run->file = std::move(file);
  return run;
}

bool covers(const ViewedRun& run, std::int64_t begin, std::int64_t end) {
  if (run.file == nullptr) return true;
  return run.from.picoseconds <= std::max<std::int64_t>(0, begin) &&
         run.until.picoseconds >= std::min(run.span().picoseconds, end);
}

ViewedRunPtr at_iteration(const ViewedRun& run, std::uint32_t number) {
  const RecordedIterations& all = *run.iterations;
  const auto at = std::find(all.numbers.begin(), all.numbers.end(), number);
  if (at == all.numbers.end()) {
    throw InputError(fmt::format("{} has no iteration {}; it has {} to {}", run.source, number,
                                 all.numbers.front(), all.numbers.back()));
  }
  const auto place = static_cast<std::size_t>(at - all.numbers.begin());
  Recording recording{run.plan, all.timelines[place], all.title};
  recording.timeline.iteration = number;
  recording.timeline.environment = run.timeline.environment;
  return viewed(std::move(recording), run.source, run.iterations, run.files);
}

std::size_t bytes_of(const Layout& layout) { return layout.schedule.actions() * sizeof(Action); }

std::size_t bytes_of(const ViewedRun& run) {
  const auto all = [](const auto&... columns) {
    return (std::size_t{0} + ... + (columns.capacity() * sizeof(columns.front())));
  };
  const Plan& plan = run.plan;
  const Timeline& timeline = run.timeline;
  return all(plan.work, plan.microbatch, plan.input, plan.inputs, plan.followers) +
         all(timeline.begin, timeline.end, timeline.last_input, timeline.slowed,
             timeline.memory_wait, timeline.memory) +
         all(run.costs.task_duration, run.costs.task_latency, run.report.critical_path) +
         (run.layout == nullptr ? 0 : bytes_of(*run.layout));
}

std::uint32_t slices_of(const ViewedRun& run) { return run.layout ? run.layout->slices : 1; }

std::uint32_t microbatch_of(const ViewedRun& run, TaskId task) {
  return index(run.plan.microbatch[task]) / slices_of(run);
}

Time left_link_at(const ViewedRun& run, TaskId transfer) {
  const Time end = run.timeline.end[transfer] - run.costs.latency_of(run.plan, transfer);
  return std::max(run.timeline.begin[transfer], end);
}

}  // namespace penstock
