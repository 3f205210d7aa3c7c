#include "experiments/plan/sweeps/space/read_sweep.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <utility>

#include "experiments/input/fields/fields.hpp"
#include "experiments/input/files/files.hpp"
#include "experiments/input/files/json_input.hpp"
#include "experiments/input/files/json_output.hpp"
#include "experiments/input/files/named_files.hpp"
#include "experiments/input/files/plain_text.hpp"
#include "experiments/input/files/setting.hpp"
#include "experiments/plan/sweeps/space/condition.hpp"
#include "sim/base/error.hpp"

namespace penstock {
namespace {

using nlohmann::json;

const Fields& progression_fields() {
  using T = ProgressionText;
  static const Fields fields{
      "",
      {field<&T::from>("from", number()), field<&T::to>("to", number()),
       field<&T::step>("step", number(), "distance of neighbours, above 0"),
       field<&T::factor>("factor", number(), "ratio of neighbours, above 1"),
       field<&T::points>("points", whole(2, 1'000'000'000), "how many numbers"),
       field<T>("scale", words({"linear", "log"}), "default: linear, or log with a factor",
                [](const json& scale, T& text) { text.logarithmic = scale == "log"; }),
       field<&T::whole>("whole", truth(),
                        "rounded to whole numbers; default: if from, to and step are")},
      {"from", "to"}};
  return fields;
}

Takes values() {
  const Takes any_list = nlohmann::ordered_json{{"type", "array"}, {"minItems", 1}};
  return meaning(either(any_list, object_of(progression_fields())),
                 "a list of values, or numbers from one to another");
}

const Fields& sample_fields() {
  static const Fields fields{
      "points drawn from the axes, instead of all combinations",
      {field<&Sample::method>("method", words({"random", "sobol"}), "default: sobol"),
       field<&Sample::count>("count", whole(1, most_sampled), "points to draw"),
       field<&Sample::seed>("seed", whole(0, 9'007'199'254'740'991),
                            "of random points, default 1")},
      {"count"}};
  return fields;
}

const Fields& sweep_fields() {
  const Takes any_object = nlohmann::ordered_json{{"type", "object"}};
  const Takes pointer = nlohmann::ordered_json{{"type", "string"}, {"minLength", 2}};
  static const Fields fields{
      "",
      {{"penstock", nlohmann::ordered_json{{"enum", {1}}}, "format version"},
       {"description", text(), "for readers; not used"},
       {"scenario", either(text(), any_object),
        "the scenario that varies: its file, relative to this one, or itself"},
       {"set", any_object,
        "values that every configuration has, by JSON pointer into the scenario"},
       {"vary",
        list_of(meaning(map_of(values()),
                        "values by JSON pointer into the scenario; a step * is every item of a "
                        "list"),
                1),
        "axes, the last one varying first; pointers of one entry take their values together"},
       {"where",
        list_of(meaning(text(), "such as \"/schedule/microbatches >= 2*/parallel/pipeline\"")),
        "conditions that a configuration must fulfil"},
       {"sample", object_of(sample_fields())},
       {"results", list_of(pointer),
        "further values of each run, as JSON pointers into the document of run --json"}},
      {"scenario"}};
  return fields;
}

bool is_sweep(const json& document) {
  return document.is_object() && !document.contains("model") &&
         (document.contains("vary") || document.contains("scenario"));
}

ValueList read_values(const json& values, const std::string& place) {
  if (values.is_array()) {
    ValueList read;
    for (const json& value : values) read.list.push_back(value.dump());
    return read;
  }
  ProgressionText text{};
  read_fields(progression_fields(), values, &text);
  try {
    return {.list = {}, .progression = progression_of(text)};
  } catch (const InputError& error) {
    throw InputError(place, error.what());
  }
}

void read_axes(const json& vary, SweepRequest& request) {
  for (std::size_t i = 0; i < vary.size(); ++i) {
    Axis axis;
    for (const auto& [pointer, values] : vary[i].items()) {
      const std::string place = fmt::format("/vary/{}{}", i, pointer_step(pointer));
      check_pointer(pointer, place);
      axis.pointers.push_back(pointer);
      axis.values.push_back(read_values(values, place));
    }
    request.axes.push_back(std::move(axis));
  }
}

void read_sample(const json& section, SweepRequest& request) {
  Sample sample;
  read_fields(sample_fields(), section, &sample);
  request.sample = sample;
}

/// The base scenario of a sweep file and where it came from.
void read_base(const json& document, const std::string& path, SweepRequest& request) {
  const json& scenario = document["scenario"];
  json base = scenario;
  request.source = path;
  if (scenario.is_string()) {
    const std::string folder =
        path == "-" ? "." : std::filesystem::path(path).parent_path().string();
    request.source = resolve(folder, scenario.get<std::string>());
    check_confined(request.source);
    const std::string content = read_configuration(request.source);
    require_json(folder, request.source, content, "a scenario");
    base = about_file(request.source, [&] { return parse_json(content); });
  }
  const json settings = document.value("set", json::object());
  for (const auto& [pointer, value] : settings.items()) {
    const std::string place = "/set" + pointer_step(pointer);
    check_pointer(pointer, place);
    below(place,
          [&, &pointer = pointer, &value = value] { set_value(base, pointer, value.dump()); });
  }
  request.base = std::make_shared<const json>(std::move(base));
}

void read_document(const json& document, const std::string& path, SweepRequest& request) {
  static const Schema schema(schema_of(sweep_fields()));
  schema.check(document);
  read_base(document, path, request);
  if (document.contains("vary")) read_axes(document["vary"], request);
  if (document.contains("sample")) read_sample(document["sample"], request);
  for (const json& pointer : document.value("results", json::array())) {
    request.results.push_back(pointer);
    check_pointer(request.results.back(), "/results");
  }
}

void read_conditions(const json& document, SweepRequest& request) {
  const json conditions = document.value("where", json::array());
  for (std::size_t i = 0; i < conditions.size(); ++i) {
    try {
      request.conditions.push_back(condition_of(conditions[i], request.axes));
    } catch (const InputError& error) {
      throw InputError(fmt::format("/where/{}", i), error.what());
    }
  }
}

/// What the command line adds.
void add_arguments(const SweepArguments& arguments, SweepRequest& request) {
  json base = *request.base;
  apply_settings(base, arguments.settings);
  request.base = std::make_shared<const json>(std::move(base));
  for (const std::string& text : arguments.axes) {
    for (Axis& axis : axes_of(text)) request.axes.push_back(std::move(axis));
  }
  for (const std::string& pointer : arguments.results) {
    try {
      check_depth(pointer);
    } catch (const InputError& error) {
      throw UsageError(fmt::format("--result {}: {}", shortened(pointer), error.what()));
    }
    try {
      check_pointer(pointer, "");
    } catch (const InputError&) {
      throw UsageError(
          fmt::format("--result {}: expected a pointer into the document of run "
                      "--json, such as /ranks/0/idle_us",
                      shortened(pointer)));
    }
    request.results.push_back(pointer);
  }
  if (arguments.sample) {
    request.sample = arguments.sample;
    request.sample->option = fmt::format("--sample {}", request.sample->count);
  }
  for (const std::string& text : arguments.conditions) {
    const std::string option = "--where " + text;
    try {
      request.conditions.push_back(condition_of(text, request.axes));
      request.conditions.back().option = option;
    } catch (const InputError& error) {
      throw UsageError(fmt::format("{}: {}", option, error.what()));
    }
  }
}

}  // namespace

std::string_view sweep_schema() {
  static const std::string text = printed(schema_of(sweep_fields(), "Penstock sweep"));
  return text;
}

SweepRequest read_sweep_base(const SweepArguments& arguments) {
  const std::string content = arguments.text ? *arguments.text : read_configuration(arguments.file);
  SweepRequest request;
  about_file(arguments.file, [&] {
    const json document = parse_json(content);
    const bool sweep = is_sweep(document);
    if (sweep) {
      read_document(document, arguments.file, request);
    } else {
      request.source = arguments.file;
      request.base = std::make_shared<const json>(document);
    }
    add_arguments(arguments, request);
    if (sweep) read_conditions(document, request);
  });
  return request;
}

SweepRequest read_sweep(const SweepArguments& arguments) {
  SweepRequest request = read_sweep_base(arguments);
  if (request.axes.empty()) {
    throw UsageError(
        fmt::format("{}: nothing varies; give --vary /POINTER=A,B,…, or a sweep with \"vary\"",
                    arguments.file));
  }
  return request;
}

}  // namespace penstock
