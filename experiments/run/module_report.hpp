#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "experiments/run/run.hpp"

namespace penstock {

/// A part of a model with degrees of its own, in a finished run.
struct PartReport {
  std::string name;  // of the module; "others" for the layers behind it
  Degrees degrees;
  std::uint32_t pipeline = 1;    // ranks that a microbatch passes
  std::uint64_t devices = 1;     // that run it
  double busy = 0;               // share of the makespan that its ranks run it
  double bubble = 0;             // share that they run nothing
  std::uint64_t peak_bytes = 0;  // the most that it takes on a rank, without other parts
};

/// The module and the layers behind it. The run has finished, and its layout has a module.
std::vector<PartReport> part_reports(const RunResult& result);

}  // namespace penstock
