#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "experiments/model_files/model_file.hpp"
#include "sim/order/schedule.hpp"

namespace penstock {

/// "schedule": who does what when.
struct ScheduleSection {
  std::string name;    // a rule, or
  std::string policy;  // what decides while it runs, or
  std::string file;    // an order, as the scenario names it
  std::vector<std::vector<Stage>> chains;
  std::optional<std::uint32_t> microbatches;
  std::optional<std::uint32_t> global_batch;  // examples of an iteration, by a training command
  std::optional<double> samples_per_microbatch;
  Overlap overlap = Overlap::serial;
  std::map<std::string, std::string, std::less<>> settings;  // of the rule
};

/// Reads the section, which the schema has checked; without one (nullptr) a training command says
/// what runs. Throws InputError with a pointer into the scenario.
ScheduleSection read_schedule(const nlohmann::json* section, const TrainingCommand& command);

}  // namespace penstock
