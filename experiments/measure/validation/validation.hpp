#pragma once

#include <cstdint>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "experiments/input/scenario/scenario.hpp"
#include "experiments/measure/torch_runs/torch_layout.hpp"
#include "experiments/run/layout/layout.hpp"
#include "experiments/run/simulation.hpp"
#include "sim/costs/priced_plan.hpp"
#include "sim/timeline/timeline.hpp"
#include "validate/backends/registry.hpp"
#include "validate/job/job.hpp"
#include "validate/job/run_errors.hpp"
#include "validate/job/trained_numbers.hpp"

namespace penstock {

/// The largest error of an order that trains the same model: only sums are rounded differently.
constexpr double most_numbers_error = 1e-10;

/// Relative error of a run's numbers against the unpipelined model, or why they are not compared.
struct NumbersCheck {
  std::optional<double> error;
  std::string why_not;
  bool of_loss_alone = false;        // an order without backwards
  bool of_weights = false;           // also of the weights after the optimizer step
  bool by_versions = false;          // of an order without flushes
  double most = most_numbers_error;  // above it, another model was trained
};

/// Trains the layers of a job unpipelined; for an order without flushes, weights change by the rule
/// of its schedule. `numbers`: those of a run of the job, if known.
NumbersCheck check_numbers(const Layout& layout, const Schedule& order, const Job& job,
                           const std::optional<TrainedNumbers>& numbers);

/// The most that a rank holds, of everything or of activations: as counted in a run, and as
/// simulated.
struct HeldPeak {
  std::uint32_t rank = 0;
  double counted_bytes = 0;
  double simulated_bytes = 0;
};

/// Of everything, by rank. `measured`: an iteration of a run. Empty where communication is written.
std::vector<HeldPeak> held_peaks(const PricedPlan& priced, const Timeline& measured,
                                 const Timeline& simulated);

/// "memory at its peak: …", of the rank that differs most, or holds most; empty if none holds any.
std::string held_text(const std::vector<HeldPeak>& peaks);
nlohmann::ordered_json held_json(const std::vector<HeldPeak>& peaks);

/// Of encoded activations: their bytes as they were kept.
std::vector<HeldPeak> stash_peaks(const CodingNumbers& coding, const PricedPlan& priced,
                                  const Timeline& simulated);

/// "stash: 4.50 bits a value, 18.7 dB, …" and the peak of the worst rank.
std::string coding_text(const CodingNumbers& coding, const std::vector<HeldPeak>& peaks);
nlohmann::ordered_json coding_json(const CodingNumbers& coding, const std::vector<HeldPeak>& peaks);

/// A run in PyTorch.
struct TorchNote {
  std::string version;
  std::string device;
  std::string bodies;        // "sleep", "compute", "layers" or "own"
  std::uint32_t steps = 0;   // timed, without the profiler
  std::uint32_t traced = 0;  // others, with the profiler
  double others = 0;         // share of the cores that others used in timed steps: median
  double load = 0;
  double waited_s = 0;  // for a quiet machine, and on loud steps
  bool gave_up = false;
  double gradient_error = 0;
};

/// A scenario that was run for real and simulated.
struct Validation {
  std::string title;             // "1f1b, 4 ranks, 8 microbatches"
  std::string backend;           // its name
  std::optional<Finding> fault;  // why it did not run to its end; then nothing below is set
  bool served = false;  // this process only ran a rank for another one, which has the result

  Job job;                              // whose actions run layers if it has any
  std::string why_busy;                 // otherwise: why they keep a core busy or sleep instead
  bool sleeps = false;                  // actions without layers sleep
  NumbersCheck numbers;                 // of layers
  std::optional<CodingNumbers> coding;  // of encoded activations
  std::vector<HeldPeak> stash_peaks;    // the same
  std::vector<HeldPeak> memory;         // by rank; empty without a clean iteration
  Measurement measured;
  std::string why_no_score;  // why the errors below are meaningless; then inconclusive
  RunErrors errors;
  Targets targets;
  Verdict verdict = Verdict::inconclusive;
  // Its makespan, before times were scaled; of a run in PyTorch with links that take no time.
  Time scenario{};
  Timeline simulated;              // with profiled durations
  Timeline typical;                // the median iteration
  std::optional<TorchNote> torch;  // of a run in PyTorch; then `measured` has its traced steps
};

/// Options of runs in PyTorch.
struct TorchOptions {
  std::string keep;     // folder of scripts, orders and traces; empty: a temporary one
  std::string model;    // Python file of the user's layers
  double quiet_s = 60;  // the longest wait for a quiet machine
};

/// A scenario to run beside others of the same model.
struct ValidationCandidate {
  std::string name;                  // of its schedule
  std::optional<Scenario> scenario;  // nothing: it does not fit
  std::string left_out;              // why it does not
  bool gives_times = false;          // PyTorch: others are predicted from its traces
};

/// What became of candidates.
struct ValidationRuns {
  struct Run {
    std::string left_out;  // why it did not run
    Validation validation;
    bool stopped = false;  // it could have run, but for an interrupt
  };
  std::vector<Run> runs;  // by candidate
  // The times that predictions used: a profile file, and a scenario that reads it as profile.json.
  // Empty: each was profiled alone.
  std::string profile;
  std::string scenario;
};

/// How to measure a scenario.
struct ValidationOptions {
  MeasuringPlan measuring;
  std::optional<std::uint32_t> action_us = {};  // mean duration of an action
  std::uint32_t processes = 1;                  // that share the ranks
  Bodies bodies = Bodies::automatic;
  TorchOptions torch = {};
  DeviceOptions device = {};  // of a backend on one GPU
};

/// The lengths of actions on a backend: the best for it, or what the options ask for.
JobLength action_length(const BackendEntry& backend, std::uint32_t ranks,
                        const ValidationOptions& options);

/// Runs the plan of a scenario on a backend and compares the simulation with it. Throws UsageError
/// for what no backend or this one supports, and std::runtime_error for what is not possible on
/// this machine; otherwise like `run`.
Validation validate(const Scenario& scenario, const BackendEntry& backend,
                    const ValidationOptions& options);

/// The same for several: in PyTorch's runtime in turns, elsewhere one after the other; there, an
/// error of the backend ends the run of one, and is thrown if none ran.
ValidationRuns validate_all(const std::vector<ValidationCandidate>& candidates,
                            const BackendEntry& backend, const ValidationOptions& options);

/// In PyTorch: trains by all candidates in turns. Errors of the structure come from traced steps;
/// the profile error compares the median of steps without the profiler with a simulation by the
/// profile of the candidates that give times, or of the first that ran. Throws std::runtime_error
/// without PyTorch.
ValidationRuns validate_in_torch(const std::vector<ValidationCandidate>& candidates,
                                 const BackendEntry& backend, const ValidationOptions& options);

/// Calls `work`, and returns why a scenario does not fit, if it throws that.
std::string why_left_out(const Scenario& scenario, const std::function<void()>& work);

/// The document of `validate --json`.
nlohmann::ordered_json validation_json(const Validation& validation);

/// "5 clean iterations of 80; not clean: a rank had to leave its core 71, …". An iteration may have
/// several reasons.
std::string clean_text(const Measurement& measured);
/// Whether links were those of this machine, not those of the scenario.
bool has_links_of_machine(const Validation& validation);
/// Of a run in PyTorch: the timed steps in which others used few of the cores.
std::size_t quiet_steps(const Validation& validation);
/// The same, or of a run in PyTorch "14 of 20 timed steps were quiet".
std::string clean_text(const Validation& validation);

/// The report for a terminal.
std::string validation_text(const Validation& validation);

/// What a GPU runs for the layers of a model: its transformer layers, in their sizes: a norm before
/// attention and one before the network, without biases but for shifts of norms. Embedding and head
/// with its norm are left out. Throws UsageError for models that have other layers, or these in
/// several sizes, for stages without any, and for what else a layout asks of actions.
DeviceOptions with_layers_of(const Layout& layout, DeviceOptions device);

/// The job that one GPU runs of a scenario, with or without a GPU here. Throws UsageError for what
/// GPUs do not run, otherwise like `validate`.
Job gpu_job(const Scenario& scenario);

/// Its program of tasks as a file, named after the scenario's file, for a machine with a GPU and
/// nothing else of Penstock.
std::string gpu_program_file(const Scenario& scenario);

}  // namespace penstock
