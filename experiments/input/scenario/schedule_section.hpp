#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "experiments/input/model_files/model_file.hpp"
#include "sim/order/schedule.hpp"

namespace penstock {

/// "schedule": which action runs when.
struct ScheduleSection {
  std::string name;    // a rule, or
  std::string policy;  // a policy, which decides at run time, or
  std::string file;    // an order's file, as named in the scenario
  std::vector<std::vector<Stage>> chains;
  std::optional<std::uint32_t> microbatches;
  std::optional<std::uint32_t> global_batch;  // examples per iteration, from a training command
  std::optional<double> samples_per_microbatch;
  Overlap overlap = Overlap::serial;
  std::map<std::string, std::string, std::less<>> settings;  // of the rule
};

/// Reads the section, after the schema check. Without one (nullptr) the training command determines
/// the schedule. Throws InputError with a pointer into the scenario.
ScheduleSection read_schedule(const nlohmann::json* section, const TrainingCommand& command);

}  // namespace penstock
