#include <nlohmann/json.hpp>

#include "experiments/input/files/json_input.hpp"
#include "experiments/input/scenario/number_lists.hpp"
#include "experiments/input/scenario/one_of.hpp"
#include "experiments/input/scenario/schedule_section.hpp"
#include "sim/base/error.hpp"

namespace penstock {
namespace {

using nlohmann::json;

void check_source(const json& section) {
  check_one_of(section, "/schedule", {"name", "policy", "file"});
  if (section.contains("chains") && !section.contains("file")) {
    throw InputError("/schedule/chains", "chains go with a \"file\"; a rule brings its own");
  }
}

/// Any other key is an option of the rule.
void read_key(const std::string& key, const json& value, ScheduleSection& schedule) {
  if (key == "description") return;  // for readers of the file
  if (key == "name") {
    schedule.name = value;
  } else if (key == "policy") {
    schedule.policy = value;
  } else if (key == "file") {
    schedule.file = value;
  } else if (key == "chains") {
    schedule.chains = number_lists<Stage>(value);
  } else if (key == "microbatches") {
    schedule.microbatches = value;
  } else if (key == "samples_per_microbatch") {
    schedule.samples_per_microbatch = value;
  } else if (key == "overlap") {
    schedule.overlap = value == "fused" ? Overlap::fused : Overlap::serial;
  } else {
    schedule.settings[key] = value.is_string() ? value.get<std::string>() : value.dump();
  }
}

}  // namespace

ScheduleSection read_schedule(const json* section, const TrainingCommand& command) {
  ScheduleSection schedule;
  schedule.global_batch = command.global_batch;
  if (section != nullptr) {
    check_source(*section);
    for (const auto& [key, value] : section->items()) read_key(key, value, schedule);
    return schedule;
  }
  if (!command.pipeline) throw InputError("/schedule", "\"schedule\" is missing");
  schedule.name = command.chunks.value_or(1) > 1 ? "interleaved-1f1b" : "1f1b";
  return schedule;
}

}  // namespace penstock
