#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <numeric>
#include <stdexcept>
#include <utility>

#include "experiments/measure/comparison/comparison.hpp"
#include "experiments/measure/torch_runs/torch_run.hpp"
#include "experiments/measure/torch_runs/transfer.hpp"
#include "experiments/measure/validation/validation.hpp"
#include "experiments/run/layout/layout.hpp"
#include "experiments/run/simulation.hpp"
#include "experiments/run/stage_formats.hpp"
#include "sim/base/error.hpp"
#include "sim/engines/events.hpp"
#include "validate/machine/host.hpp"
#include "validate/statistics/summary.hpp"

namespace penstock {
namespace {

constexpr double most_gradient_error = 1e-6;  // in single precision
constexpr std::size_t least_quiet_steps = 8;
constexpr std::uint32_t rounds = 10;  // many: the pace of a machine drifts within seconds

/// A candidate that PyTorch runs.
struct Runnable {
  std::size_t candidate;
  Layout layout;
  RuntimeOrder order;
  PricedPlan priced;                                       // with the scenario's times of actions
  std::vector<std::vector<std::uint32_t>> documents = {};  // by microbatch, where these differ
};

/// Links are those of this machine: what the scenario says of them is not run.
void free_links(PricedPlan& priced) {
  auto& [plan, costs, conditions] = priced;
  for (std::size_t work = 0; work < plan.classes.size(); ++work) {
    if (plan.is_link(plan.classes[work].resource)) costs.duration[work] = {};
  }
  for (TaskId task = 0; task < costs.task_duration.size(); ++task) {
    if (plan.is_link(plan.class_of(task).resource)) costs.task_duration[task] = {};
  }
  for (auto* latencies : {&costs.latency, &costs.task_latency}) {
    std::fill(latencies->begin(), latencies->end(), Time{});
  }
}

/// Throws InputError or UsageError where the candidate does not run.
Runnable runnable(const ValidationCandidate& candidate, std::size_t number) {
  Layout layout = with_codecs(settle(*candidate.scenario));
  const Simulation simulation(layout);
  const auto order = simulation.order();
  if (const auto* finding = std::get_if<Finding>(&order)) throw UsageError(finding->text);
  const auto& schedule = std::get<Schedule>(order);
  const std::string why_not = why_not_in_torch(layout, schedule);
  if (!why_not.empty()) throw UsageError(why_not);
  auto plain = simulation.price_order(schedule);
  if (const auto* finding = std::get_if<Finding>(&plain)) throw UsageError(finding->text);
  PricedPlan priced = std::get<PricedPlan>(std::move(plain));
  RuntimeOrder made = runtime_order(candidate.name, layout, schedule);
  layout.chance.slow_links.clear();
  layout.chance.transfer_jitter = 0;
  if (layout.documents || !layout.chance.changes_nothing()) {
    Simulation::Replicas drawn = simulation.draw_replicas(priced, 0);
    drawn.priced.costs = std::move(drawn.costs.front());
    made.shares = microbatch_shares(priced, drawn.priced);
    priced = std::move(drawn.priced);
  }
  free_links(priced);
  Runnable one{number, std::move(layout), std::move(made), std::move(priced)};
  if (const auto batch = simulation.microbatches_of(0)) {
    for (const StepMicrobatch& microbatch : batch->replicas.front()) {
      one.documents.push_back(microbatch.packed.lengths);
    }
  }
  return one;
}

std::vector<Runnable> runnables(const std::vector<ValidationCandidate>& candidates,
                                std::vector<ValidationRuns::Run>& outcomes) {
  std::vector<Runnable> all;
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    outcomes[i].left_out = candidates[i].left_out;
    if (!candidates[i].scenario) continue;
    outcomes[i].left_out =
        why_left_out(*candidates[i].scenario, [&] { all.push_back(runnable(candidates[i], i)); });
  }
  return all;
}

/// All orders train on the same documents. Packing by cost may differ, since each layout has costs
/// of its own.
void keep_same_documents(std::vector<Runnable>& all, std::vector<ValidationRuns::Run>& outcomes) {
  const auto differs = [&](const Runnable& one) {
    if (one.layout.spec.blocks.empty() || one.documents == all.front().documents) return false;
    outcomes[one.candidate].left_out = fmt::format(
        "its microbatches have other documents than those of {}", all.front().order.name);
    return true;
  };
  all.erase(std::remove_if(all.begin(), all.end(), differs), all.end());
}

TorchModelRequest model_request(const ValidationOptions& options, double scale) {
  const std::string& file = options.torch.model;
  return {.bodies = options.bodies,
          .file = file.empty() ? file : std::filesystem::absolute(file).string(),
          .scale = scale};
}

/// Layers that run take the time that they take, whatever chance says: that of their documents.
void give_documents(std::vector<Runnable>& all, TorchModel& model) {
  if (model.bodies == TorchBodies::sleep || model.bodies == TorchBodies::compute) return;
  model.documents = all.front().documents;
  for (const auto& lengths : model.documents) {  // packing evenly may go beyond a sequence
    const auto tokens = std::accumulate(lengths.begin(), lengths.end(), 0U);
    model.shape.front() = std::max(model.shape.front(), tokens);
  }
  for (Runnable& one : all) one.order.shares.clear();
}

TorchJob job_for(std::vector<Runnable>& all, const std::vector<ValidationCandidate>& candidates,
                 const BackendEntry& backend, const ValidationOptions& options) {
  const Runnable& first = all.front();
  const std::uint32_t ranks = first.order.placement.ranks();
  const double scale = job_of(first.priced, action_length(backend, ranks, options)).scale;
  TorchJob job{.device = backend.torch,
               .ranks = ranks,
               .microbatches = first.priced.plan.microbatches,
               .model = torch_model(first.layout, model_request(options, scale)),
               .orders = {}};
  give_documents(all, job.model);
  job.rounds = rounds;
  job.steps = (options.measuring.iterations + rounds - 1) / rounds;
  job.quiet_s = options.torch.quiet_s;
  for (const Runnable& one : all) {
    job.orders.push_back(one.order);
    if (candidates[one.candidate].gives_times) {
      job.orders.back().quiet_traced = rounds * job.traced;
    }
  }
  return job;
}

// ---- errors ----

/// Quiet steps, or all where these are too few.
std::vector<TimedStep> counted_steps(const TorchResult& result, double quiet_share,
                                     Measurement& measured) {
  std::vector<TimedStep> quiet;
  for (const TimedStep& step : result.steps) {
    if (step.others <= quiet_share) quiet.push_back(step);
  }
  measured.tried = static_cast<std::uint32_t>(result.steps.size());
  const auto loud = static_cast<std::uint32_t>(result.steps.size() - quiet.size());
  if (loud > 0) measured.disturbed["others"] = loud;
  measured.complete = quiet.size() >= least_quiet_steps;
  return measured.complete ? quiet : result.steps;
}

void fill_errors(const std::vector<TimedStep>& steps, Time simulated, Validation& validation) {
  RunErrors& errors = validation.errors;
  std::vector<double> times;
  for (const TimedStep& step : steps) times.push_back(step.us);
  errors.simulated = simulated;
  errors.measured = from_us(median(times));
  const double measured_us = median(times);
  errors.profile = std::abs(to_us(simulated) - measured_us) / measured_us;
  errors.retest = retest_error(steps);
  errors.spread = spread_of(times).deviation;
}

/// The simulator's structure of real PyTorch, traced: what is left with the measured durations.
Targets targets_of(const RuntimeOrder& order) {
  const bool small = order.placement.ranks() <= 2 && order.stages.size() == order.placement.ranks();
  return {.structure = small ? 0.015 : 0.03, .wall_clock = true};
}

TorchNote note_of(const TorchJob& job, const TorchRun& run, const TorchResult& result) {
  std::vector<double> others;
  for (const TimedStep& step : result.steps) others.push_back(step.others);
  return {.version = run.version,
          .device = run.device,
          .bodies = std::string(name(job.model.bodies)),
          .steps = static_cast<std::uint32_t>(result.steps.size()),
          .traced = result.traced
                        ? static_cast<std::uint32_t>(result.traced->measured.iterations.size())
                        : 0,
          .others = median(others),
          .load = run.load,
          .waited_s = run.waited_s,
          .gave_up = run.gave_up,
          .gradient_error = result.gradient_error};
}

void judge_run(const TorchResult& result, Validation& validation) {
  if (validation.why_no_score.empty()) {
    validation.verdict = judge(validation.errors, validation.measured, validation.targets);
  }
  validation.numbers = {.error = result.gradient_error, .why_not = "", .most = most_gradient_error};
  if (result.gradient_error > most_gradient_error) validation.verdict = Verdict::fail;
}

/// How long a step of microbatches that differ takes: as its own traced steps in simulation, since
/// no other order has each microbatch of a stage in a profile.
std::variant<Time, std::string> predicted(const TorchResult& result) {
  const MeasuredRun& run = *result.traced;
  std::vector<double> steps_us;
  for (std::size_t i = 0; i < run.measured.iterations.size(); ++i) {
    if (const auto step = replayed(run.job, run.measured, i)) {
      steps_us.push_back(to_us(makespan(run.job.priced.plan, *step)));
    }
  }
  if (steps_us.empty()) return "its traced steps do not end in simulation";
  return from_us(median(std::move(steps_us)) + result.around_us);
}

/// How long a step takes, or why it is not predicted.
std::variant<Time, std::string> predicted(const Transfer& transfer, const RuntimeOrder& order) {
  const auto priced = transfer.priced(order);
  if (const auto* why_not = std::get_if<std::string>(&priced)) return *why_not;
  const auto& plan = std::get<PricedPlan>(priced);
  return makespan(plan.plan, relax(plan)) + transfer.around();
}

/// A profile has one time of a pass, so microbatches that differ are compared with the simulation
/// of their own step.
void compare_with_replay(const MeasuredRun& traced, Validation& validation) {
  auto replay = replayed(traced.job, traced.measured, traced.chosen);
  if (!replay) return;
  validation.simulated = *std::move(replay);
  compare_op_by_op(traced.job.priced.plan, validation.simulated,
                   traced.measured.iterations[traced.chosen], validation.errors);
}

/// Fills in the outcome of an order that ran.
void fill(const TorchJob& job, const TorchRun& run, std::size_t number,
          const std::variant<Time, std::string>& predicted, ValidationRuns::Run& outcome) {
  const TorchResult& result = run.results[number];
  Validation& validation = outcome.validation;
  validation.torch = note_of(job, run, result);
  validation.why_no_score = why_no_score(job, run.threads, usable_cores()).value_or("");
  const MeasuredRun& traced = *result.traced;
  validation.job = traced.job;
  validation.job.scale = job.model.scale;
  validation.measured = traced.measured;
  validation.errors = traced.errors.value_or(RunErrors{});
  validation.typical = traced.timeline;
  validation.typical.environment["torch"] = run.version;
  if (job.device.device == "cpu") {
    validation.typical.environment["measured_by"] = "begins and ends noted by the script";
  }
  validation.simulated =
      std::get<Timeline>(simulate(profiled(validation.job, validation.measured.profile)));
  if (job.differ(job.orders[number])) compare_with_replay(traced, validation);
  for (Timeline* one : {&validation.typical, &validation.simulated}) {
    one->environment[time_scale_key] = fmt::format("{}", validation.job.scale);
  }
  const auto* simulated = std::get_if<Time>(&predicted);
  if (simulated == nullptr) {
    outcome.left_out = std::get<std::string>(predicted);
    return;
  }
  const auto steps = counted_steps(result, job.quiet_share, validation.measured);
  fill_errors(steps, *simulated, validation);
  judge_run(result, validation);
}

std::vector<TracedOrder> times_from(const TorchJob& job, const std::vector<Runnable>& all,
                                    const TorchRun& run,
                                    const std::vector<ValidationCandidate>& candidates) {
  std::vector<TracedOrder> traced;
  std::vector<TracedOrder> others;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const auto& of_order = run.results[i].traced;
    if (!of_order || job.differ(all[i].order)) continue;
    auto& list = candidates[all[i].candidate].gives_times ? traced : others;
    if (list.empty() || &list == &traced)
      list.push_back({all[i].order, *of_order, run.results[i].around_us});
  }
  return traced.empty() ? others : traced;
}

}  // namespace

ValidationRuns validate_in_torch(const std::vector<ValidationCandidate>& candidates,
                                 const BackendEntry& backend, const ValidationOptions& options) {
  if (const auto obstacle = backend.obstacle(PricedPlan{})) {
    throw std::runtime_error(fmt::format("{}: {}", backend.name, obstacle->text));
  }
  ValidationRuns all;
  all.runs.resize(candidates.size());
  std::vector<Runnable> runs = runnables(candidates, all.runs);
  if (runs.empty()) return all;
  keep_same_documents(runs, all.runs);
  const TorchJob job = job_for(runs, candidates, backend, options);
  TorchFolder folder(options.torch.keep);
  const TorchRun run = run_in_torch(job, folder);
  const auto traced = times_from(job, runs, run, candidates);
  std::optional<Transfer> transfer;
  if (!traced.empty()) {
    transfer.emplace(traced, folder);
    all.profile = transfer->profile();
    all.scenario = transfer->scenario();
  }
  for (std::size_t i = 0; i < runs.size(); ++i) {
    ValidationRuns::Run& outcome = all.runs[runs[i].candidate];
    outcome.validation.title = title_of(runs[i].layout);
    outcome.validation.backend = backend.name;
    outcome.validation.targets = targets_of(runs[i].order);
    outcome.validation.scenario = makespan(runs[i].priced.plan, relax(runs[i].priced));
    if (const std::string& fault = run.results[i].fault; !fault.empty()) {
      outcome.validation.fault = Finding{"pytorch", {}, {}, fault};
    } else {
      fill(job, run, i,
           job.differ(runs[i].order) ? predicted(run.results[i])
                                     : predicted(*transfer, runs[i].order),
           outcome);
    }
  }
  return all;
}

}  // namespace penstock
