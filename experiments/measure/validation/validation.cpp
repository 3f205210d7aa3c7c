#include "experiments/measure/validation/validation.hpp"

#include <fmt/format.h>

#include <exception>
#include <stdexcept>
#include <utility>

#include "experiments/input/files/files.hpp"
#include "experiments/input/files/table.hpp"
#include "experiments/input/long_work/interruption.hpp"
#include "experiments/measure/calibration/layers_in_run.hpp"
#include "experiments/measure/comparison/comparison.hpp"
#include "experiments/run/layout/layout.hpp"
#include "experiments/run/simulation.hpp"
#include "experiments/run/stage_formats.hpp"
#include "sim/base/error.hpp"
#include "sim/costs/chance.hpp"
#include "sim/engines/events.hpp"
#include "validate/job/rank_program.hpp"
#include "validate/job/replica_ranks.hpp"
#include "validate/processes/process_backend.hpp"
#include "validate/ranks/rank_runner.hpp"

namespace penstock {
namespace {

void refuse(const BackendEntry& backend, const std::string& reason) {
  throw UsageError(fmt::format("{} does not run {}", backend.name, reason));
}

/// Refuses a scenario that needs more than a plan and its costs, which no backend runs.
void check_runs_for_real(const Scenario& scenario, const BackendEntry& backend) {
  if (scenario.codec.phases.empty()) return;
  refuse(backend, "formats that change over a training; /codec with one phase runs");
}

void check_backend(const BackendEntry& backend, const PricedPlan& priced) {
  const auto obstacle = backend.obstacle(priced);
  if (!obstacle) return;
  if (!obstacle->of_machine) refuse(backend, obstacle->text);
  throw std::runtime_error(fmt::format("{}: {}", backend.name, obstacle->text));
}

std::unique_ptr<Backend> backend_for(const BackendEntry& entry, const Job& job,
                                     std::uint32_t processes) {
  if (processes == 1) return entry.make(job);
  return std::make_unique<ProcessBackend>(job, entry.make_part, processes);
}

/// In real time, undisturbed iterations are rare.
MeasuringPlan measuring_of(const BackendEntry& backend, const ValidationOptions& options) {
  constexpr std::uint32_t least_in_real_time = 8;
  MeasuringPlan measuring = options.measuring;
  if (backend.wall_clock && !measuring.least) measuring.least = least_in_real_time;
  return measuring;
}

/// The scenario's layout, backend and options.
struct Setting {
  const Layout& layout;
  const Schedule& order;
  const BackendEntry& backend;
  const ValidationOptions& options;
  Optimizer optimizer;
};

/// Whether actions run layers.
RealLayers layers_for(const Setting& setting, const PricedPlan& priced) {
  const auto& [plan, costs, conditions] = priced;
  const Bodies bodies = setting.options.bodies;
  RealLayers real;
  if (bodies == Bodies::busy || bodies == Bodies::sleep) {
    real.why_not =
        fmt::format("that is what --bodies {} asks for", bodies == Bodies::busy ? "busy" : "sleep");
  } else if (!setting.backend.runs_layers) {
    real.why_not = fmt::format("{} runs no layers", setting.backend.name);
  } else if (auto reason = why_not_model(setting.layout)) {
    real.why_not = std::move(*reason);
  } else if (!costs.task_duration.empty()) {
    real.why_not = "layers take the time that they take, whatever chance says";
  } else if (setting.layout.documents) {
    real.why_not = "layers that run have microbatches of one size";
  } else if (setting.options.action_us) {
    real.why_not = "layers take the time that they take, not --action-us";
  } else {
    real = real_layers(setting.layout, setting.order, plan);
  }
  if (bodies == Bodies::layers && !real.layers) {
    throw UsageError(fmt::format("--bodies layers: {}", real.why_not));
  }
  return real;
}

/// Layers take their own time on this machine; link times are scaled with them. The first profile
/// is warm-up.
void choose_bodies(const Setting& setting, Validation& result) {
  if (result.job.device.layers || result.job.device.work != GpuWork::spin) return;
  RealLayers real = layers_for(setting, result.job.priced);
  result.why_busy = std::move(real.why_not);
  if (!real.layers) return;
  result.job.layers = std::move(real.layers);
  if (setting.optimizer == Optimizer::adam) result.job.layers->step = StepRule::adam;
  const std::unique_ptr<Backend> backend = setting.backend.make(result.job);
  backend->profile();
  use_measured(result.job, backend->profile());
}

/// If numbers are wrong or lost, the measured time says nothing about the model's training.
void judge_numbers(const Setting& setting, const Backend& backend, Validation& result) {
  if (!result.job.layers) return;
  const auto numbers = backend.numbers();
  result.numbers = check_numbers(setting.layout, setting.order, result.job, numbers);
  result.coding = backend.coding();
  if (result.coding && !result.measured.iterations.empty()) {
    result.stash_peaks = stash_peaks(*result.coding, result.job.priced, result.simulated);
  }
  const bool differ = result.numbers.error.value_or(0) > result.numbers.most;
  if (!numbers || differ) result.verdict = Verdict::fail;
}

/// Simulates the measured run and judges the errors.
void compare(const Backend& backend, Validation& result) {
  result.errors = run_errors(result.job, result.measured);
  result.why_no_score = backend.why_no_score().value_or("");
  if (result.why_no_score.empty()) {
    result.verdict = judge(result.errors, result.measured, result.targets);
  }
  result.simulated = std::get<Timeline>(simulate(profiled(result.job, result.measured.profile)));
  const std::size_t middle = median_iteration(result.job.priced.plan, result.measured.iterations);
  result.typical = result.measured.iterations[middle];
  result.memory = held_peaks(result.job.priced, result.typical, result.simulated);
  result.typical.iteration = static_cast<std::uint32_t>(middle);
  result.typical.environment = backend.environment();
  for (Timeline* one : {&result.typical, &result.simulated}) {
    one->environment[time_scale_key] = fmt::format("{}", result.job.scale);
  }
}

/// Runs the job and its simulation. Returns the error, if any.
std::optional<Finding> measure_and_compare(const Setting& setting, Validation& result) {
  const auto backend = backend_for(setting.backend, result.job, setting.options.processes);
  auto outcome = measure(*backend, result.job, measuring_of(setting.backend, setting.options));
  if (auto* halt = std::get_if<Standstill>(&outcome)) return finding_of(std::move(*halt));
  result.measured = std::get<Measurement>(std::move(outcome));
  if (!result.measured.iterations.empty()) compare(*backend, result);
  judge_numbers(setting, *backend, result);
  return std::nullopt;
}

/// Links have no time limit, so a run may wait for a long time without measuring anything.
void check_real_time(const BackendEntry& backend, const Validation& result) {
  constexpr double most_s = 10;
  const double seconds = to_us(result.scenario) * result.job.scale * 1e-6;
  if (!backend.wall_clock || seconds <= most_s) return;
  refuse(backend, fmt::format("what takes {:.3g} s of real time an iteration; {} s are the most",
                              seconds, most_s));
}

/// The plan of an order with its first draw, for all data replicas. Layers need the sums of their
/// gradients.
std::variant<PricedPlan, Finding> drawn_plan(const Simulation& simulation, const Layout& layout,
                                             const Schedule& order, bool runs_layers) {
  auto lowered = simulation.price_order(order);
  if (std::holds_alternative<Finding>(lowered)) return lowered;
  PricedPlan& priced = std::get<PricedPlan>(lowered);
  if (runs_layers && !order.has(Pass::update)) {
    priced = with_sums_of_passes(with_ties_of_copies(std::move(priced)), layout.degrees.data);
  }
  Simulation::Replicas replicas = simulation.draw_replicas(std::move(priced), 0);
  if (replicas.costs.size() > 1) return with_replica_ranks(replicas.priced, replicas.costs);
  replicas.priced.costs = std::move(replicas.costs.front());
  return std::move(replicas.priced);
}

/// Each replica needs ranks of its own.
void check_replicas(const BackendEntry& backend, const Layout& layout) {
  constexpr std::uint32_t most_replicas = 256;
  if (layout.degrees.data <= most_replicas) return;
  throw std::runtime_error(
      fmt::format("{}: {} data replicas, each with ranks of its own; at most {}", backend.name,
                  layout.degrees.data, most_replicas));
}

void check_processes(const BackendEntry& backend, const PricedPlan& priced,
                     std::uint32_t processes) {
  if (processes > priced.plan.ranks) {
    throw UsageError(fmt::format("{} processes are too many for {}", processes,
                                 counted(priced.plan.ranks, "rank")));
  }
  if (processes == 1) return;
  if (priced.plan.written) refuse(backend, "communication as written in several processes");
  if (const auto reason = why_not_apart(priced)) {
    refuse(backend, *reason + " in several processes");
  }
}

std::optional<Finding> run_for_real(const Layout& layout, Optimizer optimizer,
                                    const BackendEntry& backend, const ValidationOptions& options,
                                    Validation& result) {
  const Simulation simulation(layout);
  const auto order = simulation.order();  // of a policy: as it decides in simulation
  if (const auto* finding = std::get_if<Finding>(&order)) return *finding;
  auto drawn = drawn_plan(simulation, layout, std::get<Schedule>(order),
                          backend.runs_layers && !layout.documents);
  if (auto* finding = std::get_if<Finding>(&drawn)) return std::move(*finding);
  PricedPlan& priced = std::get<PricedPlan>(drawn);
  const bool layers_on_device = backend.one_gpu && options.bodies == Bodies::layers;
  const DeviceOptions device =
      layers_on_device ? with_layers_of(layout, options.device) : options.device;
  if (layers_on_device && options.action_us) {
    throw UsageError("--bodies layers: layers take the time that they take, not --action-us");
  }
  check_backend(backend, priced);
  check_processes(backend, priced, options.processes);
  auto expected = simulation.run(priced);
  if (auto* finding = std::get_if<Finding>(&expected)) return std::move(*finding);
  result.scenario = makespan(priced.plan, std::get<Timeline>(expected));
  const JobLength length = action_length(backend, priced.plan.ranks, options);
  result.job = layers_on_device ? scaled_job(std::move(priced)) : job_of(std::move(priced), length);
  result.job.device = device;
  if (backend.real_links || options.device.real_links) use_real_links(result.job);
  result.served = backend.serve != nullptr && backend.serve(result.job);
  if (result.served) return std::nullopt;
  const Setting setting{layout, std::get<Schedule>(order), backend, options, optimizer};
  choose_bodies(setting, result);
  check_real_time(backend, result);
  return measure_and_compare(setting, result);
}

/// A scenario predicted from its own traces. Throws UsageError if PyTorch does not run it.
Validation validate_alone_in_torch(const Scenario& scenario, const BackendEntry& backend,
                                   const ValidationOptions& options) {
  const ValidationCandidate candidate{
      .name = settle(scenario).name, .scenario = scenario, .left_out = {}, .gives_times = true};
  ValidationRuns::Run run = std::move(validate_in_torch({candidate}, backend, options).runs[0]);
  if (!run.left_out.empty()) {
    throw UsageError(fmt::format("{}: {}", backend.name, run.left_out));
  }
  return std::move(run.validation);
}

/// One after the other. What others have measured is not lost by an error of a backend, nor by an
/// interrupt.
ValidationRuns validate_in_sequence(const std::vector<ValidationCandidate>& candidates,
                                    const BackendEntry& backend, ValidationOptions options) {
  std::optional<InterruptRequest> interrupt;
  if (!options.measuring.asked_to_stop) {
    interrupt.emplace();
    options.measuring.asked_to_stop = [&] { return interrupt->asked(); };
  }
  ValidationRuns all;
  std::exception_ptr error;
  bool any = false, interrupted = false;
  for (const ValidationCandidate& one : candidates) {
    ValidationRuns::Run run{.left_out = one.left_out, .validation = {}};
    try {
      if (one.scenario) {
        run.left_out = why_left_out(*one.scenario, [&] {
          if (interrupted)
            settle(*one.scenario);
          else
            run.validation = validate(*one.scenario, backend, options);
        });
        run.stopped = interrupted && run.left_out.empty();
      }
      any = any || (run.left_out.empty() && !run.validation.fault &&
                    !run.validation.measured.iterations.empty());
    } catch (const MeasurementStopped&) {
      interrupted = run.stopped = true;
    } catch (const std::runtime_error& fault) {
      if (!error) error = std::current_exception();
      run.validation = {};
      run.validation.fault = Finding{"error", {}, {}, fault.what()};
    }
    all.runs.push_back(std::move(run));
  }
  if (error && !any && !interrupted) std::rethrow_exception(error);
  return all;
}

}  // namespace

JobLength action_length(const BackendEntry& backend, std::uint32_t ranks,
                        const ValidationOptions& options) {
  constexpr std::int64_t most_ns = 60'000'000'000;
  JobLength length = backend.length(ranks);
  if (options.action_us) {
    length.mean_action_ns = std::int64_t{*options.action_us} * 1000;
    length.least_work_ns = 0;
    length.most_work_ns = most_ns;
  }
  return length;
}

Validation validate(const Scenario& scenario, const BackendEntry& backend,
                    const ValidationOptions& options) {
  if (!backend.torch.group.empty()) return validate_alone_in_torch(scenario, backend, options);
  check_runs_for_real(scenario, backend);
  if (options.processes > 1 && backend.make_part == nullptr)
    refuse(backend, "in several processes");
  const Layout layout = with_codecs(settle(scenario));
  check_replicas(backend, layout);
  Validation result;
  result.title = title_of(layout);
  result.backend = backend.name;
  result.sleeps = backend.sleeps;
  result.targets.wall_clock = backend.wall_clock;
  result.targets.structure = backend.most_structure;
  result.fault = about_file(scenario.source, [&] {
    return run_for_real(layout, scenario.memory.optimizer, backend, options, result);
  });
  return result;
}

ValidationRuns validate_all(const std::vector<ValidationCandidate>& candidates,
                            const BackendEntry& backend, const ValidationOptions& options) {
  if (backend.torch.group.empty()) return validate_in_sequence(candidates, backend, options);
  for (const ValidationCandidate& one : candidates) {
    if (one.scenario) check_runs_for_real(*one.scenario, backend);
  }
  return validate_in_torch(candidates, backend, options);
}

std::string why_left_out(const Scenario& scenario, const std::function<void()>& work) {
  try {
    work();
  } catch (const UsageError& error) {
    return error.what();
  } catch (const InputError& error) {  // about the same file every time
    const std::string text = error.what(), file = scenario.source + ": ";
    return text.starts_with(file) ? text.substr(file.size()) : text;
  }
  return "";
}

}  // namespace penstock
