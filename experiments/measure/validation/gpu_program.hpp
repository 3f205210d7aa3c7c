#pragma once

#include <string>

#include "experiments/input/scenario/scenario.hpp"
#include "validate/job/job.hpp"

namespace penstock {

/// The job that one GPU runs of a scenario, with or without a GPU here. Throws UsageError for what
/// GPUs do not run, otherwise like `validate`.
Job gpu_job(const Scenario& scenario);

/// Its program of tasks as a file, named after the scenario's file, for a machine with a GPU and
/// nothing else of Penstock.
std::string gpu_program_file(const Scenario& scenario);

}  // namespace penstock
