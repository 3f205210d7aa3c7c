#include <nlohmann/json.hpp>

#include "experiments/input/files/json_output.hpp"
#include "experiments/input/scenario/scenario.hpp"

namespace penstock {
namespace {

/// The names or pointers into results that a scenario expects.
Takes expectations() {
  return nlohmann::ordered_json{
      {"type", "object"},
      {"additionalProperties",
       {{"properties", {{"within", meaning(number(0), "relative tolerance").schema()}}}}}};
}

const Fields& scenario_fields() {
  static const Fields fields{
      "",
      {{"penstock", nlohmann::ordered_json{{"enum", {1}}}, "version of this format"},
       note(),
       {"model", object_of(model_fields())},
       {"hardware", object_of(hardware_fields())},
       {"partition", object_of(partition_fields())},
       {"parallel", object_of(parallel_fields())},
       {"schedule", object_of(schedule_fields())},
       {"recompute", object_of(recompute_fields())},
       {"offload", object_of(fields_of(Offload{}))},
       {"codec", object_of(codec_fields())},
       {"memory", object_of(memory_fields())},
       {"overheads", object_of(overheads_fields())},
       {"chance", object_of(chance_fields())},
       {"expect", expectations(),
        "expected results: names or pointers into the document of run --json"}},
      {"model"}};
  return fields;
}

}  // namespace

const nlohmann::json& scenario_schema() {
  static const nlohmann::json schema = schema_of(scenario_fields(), "Penstock scenario");
  return schema;
}

std::string_view scenario_schema_text() {
  static const std::string text = printed(schema_of(scenario_fields(), "Penstock scenario"));
  return text;
}

}  // namespace penstock
