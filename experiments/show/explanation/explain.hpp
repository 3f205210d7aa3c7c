#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "experiments/run/run.hpp"
#include "experiments/show/explanation/explanation.hpp"

namespace penstock {

/// The result must have a report: a deadlocked run has nothing to explain but its finding.
Explanation explain(const RunResult& result);
/// The same without sensitivities, which simulate the run again.
Explanation explain_times(const RunResult& result);

std::string explanation_text(const RunResult& result, const Explanation& explanation);
nlohmann::ordered_json explanation_json(const RunResult& result, const Explanation& explanation);

}  // namespace penstock
