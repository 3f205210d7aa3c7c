#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "experiments/input/formats/traces/execution_trace.hpp"
#include "experiments/run/run.hpp"

namespace penstock {

/// The network of ASTRA-sim's analytical backend for a run, as YAML: a link each way between any
/// two of the devices, all with the bandwidth and latency of the run's transfers.
///
/// ASTRA-sim reads GB/s as 2^30 bytes a second and cuts times off at nanoseconds: bandwidths are
/// converted, and a 10^13th lower, so that whole nanoseconds stay whole.
std::string astra_network(const RunResult& result, std::uint64_t devices);

/// Its system configuration, as JSON: compute nodes take a nanosecond per 1,000 of their `num_ops`,
/// collectives go round rings.
std::string astra_system();

/// Where the rules of ASTRA-sim change the times of a run, one sentence each; empty if they do not.
std::vector<std::string> changed_by_astra(const RunResult& result, const ExecutionTrace& trace);

}  // namespace penstock
