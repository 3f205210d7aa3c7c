#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "experiments/run/run.hpp"

namespace penstock {

/// How sure a step time is, if a stack priced its kernels: "interval" and "constants" lines of the
/// summary; empty otherwise.
std::string uncertainty_text(const RunResult& result);

/// The same as JSON: the interval, the spread behind it, and the constants by their origin.
nlohmann::ordered_json uncertainty_json(const RunResult& result);

/// Whether the step time of a run has an interval.
bool has_uncertainty(const RunResult& result);

}  // namespace penstock
