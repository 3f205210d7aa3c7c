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

Fields scenario_fields() {
  Fields fields{
      "",
      {{"penstock", nlohmann::ordered_json{{"enum", {1}}}, "version of this format"}, note()},
      {"model"}};
  for (const auto& [name, section] : scenario_sections()) {
    fields.fields.push_back({name, object_of(*section)});
  }
  fields.fields.push_back({"expect", expectations(),
                           "expected results: names or pointers into the document of run --json"});
  return fields;
}

}  // namespace

const std::vector<NamedSection>& scenario_sections() {
  static const std::vector<NamedSection> sections{
      {"model", &model_fields()},         {"hardware", &hardware_fields()},
      {"partition", &partition_fields()}, {"parallel", &parallel_fields()},
      {"schedule", &schedule_fields()},   {"recompute", &recompute_fields()},
      {"offload", &fields_of(Offload{})}, {"codec", &codec_fields()},
      {"memory", &memory_fields()},       {"overheads", &overheads_fields()},
      {"chance", &chance_fields()}};
  return sections;
}

const nlohmann::json& scenario_schema() {
  static const nlohmann::json schema = schema_of(scenario_fields(), "Penstock scenario");
  return schema;
}

std::string_view scenario_schema_text() {
  static const std::string text = printed(schema_of(scenario_fields(), "Penstock scenario"));
  return text;
}

}  // namespace penstock
