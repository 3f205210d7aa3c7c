#pragma once

#include <string>
#include <vector>

#include "experiments/input/scenario/scenario.hpp"
#include "sim/timeline/timeline_file.hpp"
#include "validate/job/job.hpp"

namespace penstock {

/// The job that one GPU runs of a scenario, with or without a GPU here. Throws UsageError for what
/// GPUs do not run, otherwise like `validate`.
Job gpu_job(const Scenario& scenario);

/// Its program of tasks as a file, named after the scenario's file, for a machine with a GPU and
/// nothing else of Penstock.
std::string gpu_program_file(const Scenario& scenario);

/// Runs of such a program, as penstock_gpu_check recorded them.
struct GpuRecording {
  std::string program;
  std::string ordering;  // "graph"
  std::string links;     // "paced"
  std::string bodies;    // "spin"
  std::vector<Timeline> runs;
};

/// Throws InputError for other files, and runs with another number of tasks than the job's plan.
GpuRecording read_gpu_recording(std::string_view text, const Job& job);

}  // namespace penstock
