#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "validate/job/backend.hpp"

namespace penstock {

/// How another program is run.
struct ProgramRun {
  std::vector<std::string> words;                      // the program and its arguments
  std::string errors = "/dev/null";                    // file of its standard error
  std::function<void(const std::string& line)> heard;  // each line it prints; may be empty
  std::function<bool()> asked_to_stop;                 // asked several times a second; may be empty
};

/// Runs a program to its end and returns its exit code: 127 if it cannot be started, 128 and more
/// for a signal. Nothing if it was asked to stop; it is killed then. It is also killed when this
/// program ends. ^C does not reach it. Throws std::runtime_error if the system refuses.
std::optional<int> run_program(const ProgramRun& run);

/// The Python that runs PyTorch: $PENSTOCK_PYTHON, or else python3.
std::string torch_python();

/// Why it has no PyTorch; nothing if it has one. Looks for the package without loading it.
std::optional<Obstacle> why_no_torch();

/// Far longer than what the host does between two actions, and than a late wake-up.
JobLength torch_job_length(std::uint32_t ranks);

}  // namespace penstock
