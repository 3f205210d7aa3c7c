#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

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

}  // namespace penstock
