#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "sim/timeline/timeline_file.hpp"
#include "validate/job/job.hpp"

namespace penstock::testing {

/// Runs of a GPU program, as penstock_gpu_check recorded them.
struct GpuRecording {
  std::string program;
  std::string ordering;  // "graph"
  std::string links;     // "paced"
  std::string bodies;    // "spin"
  std::vector<Timeline> runs;
};

/// Throws InputError for other files, and runs with another number of tasks than the job's plan.
GpuRecording read_gpu_recording(std::string_view text, const Job& job);

/// The structure error of a recording: its makespan when simulated with its own durations, against
/// the recorded one; a share. Throws UsageError for plans with shared links or other waits that a
/// recording does not hold.
double replayed_structure_error(const Recording& recording);

}  // namespace penstock::testing
