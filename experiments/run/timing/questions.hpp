#pragma once

#include <nlohmann/json_fwd.hpp>

#include "experiments/input/catalogue/catalogue.hpp"
#include "experiments/run/timing/collective_timing.hpp"
#include "experiments/run/timing/kernel_timing.hpp"

namespace penstock {

/// What `penstock kernel` and `penstock collective` print with --json.
nlohmann::ordered_json kernel_json(const std::string& hardware, const KernelTiming& timing);
nlohmann::ordered_json collective_json(const std::string& hardware,
                                       const CollectiveTimings& timings);

/// Answers a question that is a document: "hardware", and a "kernel" or a "collective" with their
/// sizes. Throws InputError with a pointer into it.
nlohmann::ordered_json timed(const Catalogue& catalogue, const nlohmann::json& question);

}  // namespace penstock
