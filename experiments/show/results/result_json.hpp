#pragma once

#include <nlohmann/json_fwd.hpp>
#include <set>
#include <string>
#include <vector>

#include "experiments/run/run.hpp"
#include "sim/report/idle.hpp"
#include "sim/report/idle_sums.hpp"

namespace penstock {

/// The document of `run --json`; its keys keep their order. With `keys`, only these: cheaper,
/// because the critical path has an item for each action.
nlohmann::ordered_json result_json(const RunResult& result,
                                   const std::set<std::string>* keys = nullptr);

/// The key that a pointer into this document begins with, or the name itself.
std::string first_key(const std::string& place);

/// Whether a rank fits, and the interval of its peak.
nlohmann::ordered_json judged_json(const JudgedMemory& memory);

/// Parts shared with other documents. `no_task` is null; the path omits E, L and transfers that
/// take no time.
nlohmann::ordered_json task_json(const Plan& plan, TaskId task);
nlohmann::ordered_json memory_json(const BytesByKind& bytes);
nlohmann::ordered_json causes_json(const IdleCauses& causes);
nlohmann::ordered_json causes_json(const IdleSums& causes);
nlohmann::ordered_json critical_path_json(const Plan& plan, const Timeline& timeline,
                                          const std::vector<PathStep>& path);
/// At most 10,000 microbatches, of the replica that is shown.
nlohmann::ordered_json batch_json(const BatchReport& report);
nlohmann::ordered_json findings_json(const std::vector<Finding>& findings);

/// The unmet expectations of an "expect" section (JSON text; names or pointers into the document of
/// `run --json`). A number must agree within a relative 1e-9, or as {"value": …, "within": …}
/// states.
std::vector<Finding> unmet_expectations(const std::string& expect, const RunResult& result);

/// Adds them to the findings of a run.
void add_unmet_expectations(const std::string& expect, RunResult& result);

}  // namespace penstock
