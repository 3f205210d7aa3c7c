#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "experiments/measure/measured_runs/measured_run.hpp"
#include "experiments/measure/torch_runs/torch_layout.hpp"
#include "validate/backends/registry.hpp"
#include "validate/machine/host.hpp"

namespace penstock {

/// A step of all ranks.
struct TimedStep {
  double us = 0;
  double others = 0;        // share of the cores that others used meanwhile
  std::uint32_t round = 0;  // in which it was taken
};

/// The steps of an order that were traced in one visit.
struct TracedVisit {
  std::vector<std::string> files;  // by rank
  std::vector<TimedStep> steps;
};

/// The quiet steps of all visits as one run, which shows their median step; all steps, where fewer
/// than two are quiet. Throws InputError for traces without these steps.
MeasuredRun run_of_visits(const std::vector<TracedVisit>& visits, double quiet_share,
                          const RuntimeOrder& order);

/// What a step of the run takes in front of its first op and behind its last: the median.
double around_ops_us(const std::vector<TracedVisit>& visits, const MeasuredRun& run);

/// The folder of a run in PyTorch: scripts, job, orders, traces, results.
class TorchFolder {
 public:
  /// A temporary folder, which the destructor removes; or, with a path, an empty or new one that
  /// stays. Throws UsageError for a folder with files in it, std::runtime_error if it cannot be
  /// made.
  explicit TorchFolder(const std::string& path = {});
  TorchFolder(const TorchFolder&) = delete;
  TorchFolder& operator=(const TorchFolder&) = delete;
  ~TorchFolder();

  std::string path(std::string_view name) const { return folder_ + "/" + std::string(name); }
  /// Removes a temporary folder now.
  void remove();

 private:
  std::string folder_;
  bool temporary_ = false;
};

/// The program that trains by orders in PyTorch: train_orders.py, as shipped.
std::string_view train_orders_script();
/// The model that it trains: scenario_model.py.
std::string_view scenario_model_script();

/// Orders to train one model by, in PyTorch.
struct TorchJob {
  TorchDevice device;
  std::uint32_t ranks = 1;
  std::uint32_t microbatches = 1;
  TorchModel model;
  std::vector<RuntimeOrder> orders;
  std::uint32_t traced = 1;   // steps with a trace, of an order in a round
  std::uint32_t rounds = 10;  // in which all orders take turns
  std::uint32_t steps = 2;    // timed ones of each order in a round, loud ones beside
  double quiet_s = 60;        // the most to wait for a quiet machine and to spend on loud steps
  double quiet_share = 0.06;  // of the cores that others may use in a quiet one

  /// Whether the microbatches of an order take times of their own.
  bool differ(const RuntimeOrder& order) const {
    return !order.shares.empty() || !model.documents.empty();
  }
};

/// What one order did.
struct TorchResult {
  std::string fault;                  // why it did not run to its end, or its traces cannot be read
  double gradient_error = 0;          // largest relative error of a loss or gradient
  std::vector<TimedStep> steps;       // without a trace
  std::optional<MeasuredRun> traced;  // other steps
  double around_us = 0;               // of traced steps, in front of their ops and behind
};

/// A run of a job.
struct TorchRun {
  std::string version;  // of PyTorch
  std::string device;
  double load = 0;      // of the machine at the end
  double waited_s = 0;  // for a quiet machine, and on loud steps
  bool gave_up = false;
  std::uint32_t threads = 1;         // in which a rank computes
  std::vector<TorchResult> results;  // by order
};

/// Writes scripts and job into the folder, runs them with a progress bar, and reads results and
/// traces. ^C ends the program, and removes a temporary folder. Throws InputError for a user's
/// model that does not run in one process, std::runtime_error if PyTorch fails as a whole.
TorchRun run_in_torch(const TorchJob& job, TorchFolder& folder);

/// Why times of a run say nothing of a simulation: ranks that compute on fewer cores than they
/// need. Layers that sleep, or run on devices, need none.
std::optional<std::string> why_no_score(const TorchJob& job, std::uint32_t threads,
                                        const UsableCores& cores);

/// The median time of steps of even rounds against that of odd ones, as a share of all: the pace of
/// a machine drifts from round to round, and steps of one round agree better. Of every other step,
/// where the rounds are all even or all odd. 0 for less than two steps.
double retest_error(const std::vector<TimedStep>& steps);

}  // namespace penstock
