#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "sim/timeline/timeline.hpp"
#include "validate/job/measurement.hpp"

namespace penstock {

/// How far a simulation is from what was measured, each as a share of the measured makespan.
struct RunErrors {
  double structure = 0;  // the most of any iteration, simulated with the lengths that it had itself
  double usual_structure = 0;  // the median of all iterations
  double profile = 0;          // simulated with lengths profiled one by one
  double retest = 0;           // every other iteration against those between them
  double spread = 0;           // median distance of a makespan from the median one
  double start = 0;  // of a task's start, with profiled lengths: the median over all tasks
  std::vector<double> bubble;  // by rank: measured idle share less the simulated one
  Time simulated{};            // the makespans, with profiled lengths
  Time measured{};             // and of the median iteration
  std::size_t median_iteration = 0;
};

/// Simulates what was measured. There must be an iteration.
RunErrors run_errors(const Job& job, const Measurement& measured);

/// How far off is still right.
struct Targets {
  double structure = 0.005;
  double profile = 0.05;
  bool wall_clock = false;  // times are real ones, so that what disturbs the machine shows in them
};

/// The structure error that is judged: of logical clocks the most of any iteration, for nothing can
/// disturb them; of real time the median, since not all that disturbs a single one can be seen.
double judged_structure(const RunErrors& errors, const Targets& targets);

enum class Verdict : std::uint8_t { pass, fail, inconclusive };
std::string_view name(Verdict verdict);

/// The structure must hold however noisy the host is, in real time once there are enough clean
/// iterations that agree with each other. The profile may be as far off as the target, or twice as
/// far as the measurement is from itself. A measurement that was not finished, or is further from
/// itself than the target, lets nothing pass.
Verdict judge(const RunErrors& errors, const Measurement& measured, const Targets& targets = {});

}  // namespace penstock
