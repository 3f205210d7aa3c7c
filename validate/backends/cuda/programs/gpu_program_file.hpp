#pragma once

#include <string>
#include <string_view>

#include "validate/backends/cuda/programs/gpu_program.hpp"

namespace penstock {

/// A program as a text file, so that a machine with a GPU runs the orders of any schedule without
/// the rest of Penstock. Bodies, by number, are needed for actions that run layers:
///
///   penstock gpu program 1
///   name NAME
///   ranks N
///   links N
///   body STAGE PASS [recomputes]
///   task LANE DURATION_NS LATENCY_NS BYTES BODY SLOT INPUT…
struct NamedProgram {
  std::string name;
  GpuProgram program;
};
std::string program_text(const NamedProgram& named);

/// Throws std::runtime_error with the line of a fault.
NamedProgram read_program(std::string_view text);

}  // namespace penstock
