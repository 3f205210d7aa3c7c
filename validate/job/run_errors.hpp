#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "sim/plan/plan.hpp"
#include "sim/timeline/timeline.hpp"
#include "validate/job/measurement.hpp"

namespace penstock {

/// Errors of a simulation as shares of the measured makespan.
struct RunErrors {
  double structure =
      0;  // largest of all iterations, each simulated with its own measured durations
  double usual_structure = 0;  // the median of all iterations
  double profile = 0;          // simulated with profiled durations
  double retest = 0;           // even against odd iterations
  double spread = 0;           // median distance of a makespan from the median one
  double start = 0;            // of a task's start, with profiled durations: median over all tasks
  std::vector<double> bubble;  // by rank: measured minus simulated idle share
  Time simulated{};            // makespan with profiled durations
  Time measured{};             // the median makespan
};

/// The iteration with the median makespan; of two in the middle, the longer one. Needs at least
/// one.
std::size_t median_iteration(const Plan& plan, const std::vector<Timeline>& iterations);

/// Simulates the measured job. Needs at least one iteration.
RunErrors run_errors(const Job& job, const Measurement& measured);

/// The plan of a job with the durations that its actions had in a run, and link times from the job
/// unless links are real.
PricedPlan with_lengths(const Job& job, const Timeline& run);

/// A measured iteration in simulation, with its own durations; nothing where it does not end.
std::optional<Timeline> replayed(const Job& job, const Measurement& measured,
                                 std::size_t iteration);

/// Fills in how far off starts and idle shares of a simulation are.
void compare_op_by_op(const Plan& plan, const Timeline& simulated, const Timeline& measured,
                      RunErrors& errors);

/// Error targets.
struct Targets {
  double structure = 0.005;
  double profile = 0.05;
  bool wall_clock = false;  // real time: disturbances of the machine show
};

/// The judged structure error: the largest of any iteration for logical clocks, which nothing
/// disturbs; the median for real time, where single disturbances may go unnoticed.
double judged_structure(const RunErrors& errors, const Targets& targets);

enum class Verdict : std::uint8_t { pass, fail, inconclusive };
std::string_view name(Verdict verdict);

/// The structure error must hold on any host; in real time it needs enough clean iterations that
/// agree. The profile error may reach the target, or twice the retest error. An unfinished
/// measurement, or one with a retest error over the target, never passes.
Verdict judge(const RunErrors& errors, const Measurement& measured, const Targets& targets = {});

}  // namespace penstock
