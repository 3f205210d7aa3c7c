#pragma once

#include <nlohmann/json_fwd.hpp>

#include "experiments/input/catalogue/catalogue.hpp"
#include "experiments/run/timing/collective_timing.hpp"
#include "experiments/run/timing/kernel_timing.hpp"

namespace penstock {

/// The machine of a name, with its topology; a device alone is a machine without links. Throws
/// InputError at /hardware for a name that is neither.
Machine machine_or_device(const Catalogue& catalogue, const std::string& name);

/// What `penstock kernel` and `penstock collective` print with --json.
nlohmann::ordered_json kernel_json(const std::string& hardware, const KernelTiming& timing);
nlohmann::ordered_json collective_json(const std::string& hardware,
                                       const CollectiveTimings& timings);

/// Answers a question that is a document: "hardware", and a "kernel" or a "collective" with their
/// sizes. Throws InputError with a pointer into it.
nlohmann::ordered_json timed(const Catalogue& catalogue, const nlohmann::json& question);

}  // namespace penstock
