#include "experiments/input/scenario/schedule_section.hpp"

#include <nlohmann/json.hpp>

#include "experiments/input/scenario/one_of.hpp"
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

}  // namespace

const Fields& schedule_fields() {
  using S = ScheduleSection;
  static const Fields fields{
      "the order of work: a rule by name, or a file; other keys are options of the rule",
      {note(), field<&S::name>("name", text(), "a schedule rule"),
       field<&S::policy>("policy", text(), "decides the order while the pipeline runs"),
       field<&S::file>("file", text(), "an order in PyTorch's CSV notation"),
       field<&S::chains>("chains", list_of(list_of(whole(0, 65'535), 1), 1, 64),
                         "for a file: the stages of each copy of the model, first to last"),
       field<&S::microbatches>("microbatches", whole(1, 16'777'216),
                               "microbatches of one iteration"),
       field<&S::samples_per_microbatch>("samples_per_microbatch", whole(1, 1'000'000'000)),
       field<&S::overlap>("overlap", words({"serial", "fused"}),
                          "how the parts of an overlap cell run")},
      {},
      meaning(either(text(), whole()), "an option of the schedule rule")};
  return fields;
}

ScheduleSection read_schedule(const json* section, const TrainingCommand& command) {
  ScheduleSection schedule;
  schedule.global_batch = command.global_batch;
  if (section != nullptr) {
    check_source(*section);
    read_fields(schedule_fields(), *section, &schedule);
    for (const std::string& key : other_keys(schedule_fields(), *section)) {
      const json& value = (*section)[key];
      schedule.settings[key] = value.is_string() ? value.get<std::string>() : value.dump();
    }
    return schedule;
  }
  if (!command.pipeline) throw InputError("/schedule", "\"schedule\" is missing");
  schedule.name = command.chunks.value_or(1) > 1 ? "interleaved-1f1b" : "1f1b";
  return schedule;
}

}  // namespace penstock
