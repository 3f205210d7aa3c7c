#include <fmt/format.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <utility>

#include "experiments/input/files/files.hpp"
#include "experiments/input/files/json_input.hpp"
#include "experiments/input/files/quantity.hpp"
#include "experiments/input/files/setting.hpp"
#include "experiments/input/formats/reading/read_model_file.hpp"
#include "experiments/input/scenario/named_file.hpp"
#include "experiments/input/scenario/read_chance.hpp"
#include "experiments/input/scenario/scenario.hpp"
#include "experiments/input/scenario/scenario_reader.hpp"
#include "sim/base/error.hpp"

namespace penstock {

/// The files that a scenario names.
struct NamedFiles {
  ModelFile model;
  std::optional<ModelFile> cut;  // how its layers are cut into stages
};

namespace {

using nlohmann::json;

/// Reads the files that a scenario names. Errors start with the name of the faulty file.
NamedFiles read_named_files(const json& document, const std::string& source,
                            const std::string& folder) {
  NamedFiles files;
  const json& model = document["model"];
  if (model.contains("file")) {
    files.model = read_model_file(
        named_file(source, folder, "/model/file", model["file"]),
        {.format = model.value("format", ""), .architecture = model.value("arch", "")});
  }
  const json partition = document.value("partition", json::object());
  if (partition.contains("file")) {
    files.cut = read_model_file(named_file(source, folder, "/partition/file", partition["file"]));
  }
  return files;
}

/// The memory defaults: Adam for layers by kind, unless the command names another optimizer, with
/// the bytes of their precision.
MemorySection usual_memory(const ModelSection& model, const TrainingCommand& command) {
  MemorySection memory;
  memory.zero = command.distributed_optimizer.value_or(false) ? 1 : 0;
  if (!model.by_kind()) return memory;
  const std::string dtype = model.dtype.value_or("bf16");
  memory.optimizer = command.optimizer.value_or(Optimizer::adam);
  const bool stores_bf16 = dtype == "bf16" || dtype == "fp8";
  memory.precision = stores_bf16       ? Precision::bf16
                     : dtype == "fp16" ? Precision::fp16
                                       : Precision::fp32;
  return memory;
}

/// The keys of "expect" are names or pointers into the result.
std::string read_expectations(const json& expect) {
  for (const auto& [key, value] : expect.items()) {
    if (!key.starts_with('/')) continue;
    try {
      (void)json::json_pointer(key);
    } catch (const json::exception&) {
      throw InputError((json::json_pointer("/expect") / key).to_string(),
                       fmt::format("\"{}\" is no JSON pointer", key));
    }
  }
  return expect.dump();
}

/// Reads the codec. Searching formats is slow, so an unchanged section reuses the result of
/// `before`.
CodecChoice read_codec(const json& document, const Scenario* before) {
  const json section = document.value("codec", json::object());
  if (before != nullptr && before->document->value("codec", json::object()) == section) {
    return before->codec;
  }
  return read_codec_choice(section);
}

Scenario read_sections(const json& document, const NamedFiles& files, const Scenario* before) {
  const TrainingCommand& command = files.model.command;
  const json nothing = json::object();
  const auto has = [&](const char* name) { return document.contains(name); };
  const auto section = [&](const char* name) -> const json& {
    return has(name) ? document[name] : nothing;
  };
  Scenario scenario;
  scenario.model = read_model(document["model"], files.model);
  scenario.hardware = read_hardware(section("hardware"), command);
  scenario.hardware.stated.precision = scenario.model.dtype.value_or("bf16");
  scenario.partition = read_partition(section("partition"), files.model, files.cut);
  scenario.parallel = read_parallel(section("parallel"), command);
  scenario.schedule = read_schedule(has("schedule") ? &document["schedule"] : nullptr, command);
  scenario.recompute = read_recompute(section("recompute"), command);
  if (has("offload")) scenario.offload = read_offload(document["offload"]);
  scenario.codec = read_codec(document, before);
  scenario.memory = read_memory(section("memory"), usual_memory(scenario.model, command));
  scenario.overheads = read_overheads(section("overheads"));
  scenario.chance = read_chance(section("chance"));
  scenario.slow_machines = read_slow_machines(section("chance"));
  if (has("expect")) scenario.expect = read_expectations(document["expect"]);
  return scenario;
}

/// A model's file is not a scenario; says how to make one of it.
void check_kind(const json& document, const std::string& source) {
  const bool is_config = document.is_object() && !document.contains("model") &&
                         (document.contains("model_type") || document.contains("architectures"));
  if (!is_config) return;
  throw InputError(fmt::format(
      "this is the config of a model, not a scenario; for one: penstock new --model {} --hardware "
      "MACHINE --devices N, or a scenario with \"model\": {{\"file\": …}}",
      source == "-" ? "FILE" : source));
}

/// "penstock": another format version gets its own error.
void check_version(const json& document) {
  if (!document.is_object() || !document.contains("penstock") || document["penstock"] == 1) return;
  throw InputError("/penstock", fmt::format("format version {} is unknown; this program reads 1",
                                            document["penstock"].dump()));
}

/// Runs a step and puts the scenario's file in front of its errors.
template <class Step>
auto about(const std::string& source, Step step) {
  try {
    return step();
  } catch (const InputError& error) {
    throw in_file(source, error);
  }
}

/// Checks a document and brings its numbers to their units.
void prepare_document(json& document, const std::string& source,
                      const std::vector<std::string>& settings) {
  static const Schema schema(json::parse(scenario_schema()));
  about(source, [&] {
    check_kind(document, source);
    apply_settings(document, settings);
    check_version(document);
    convert_quantities(document);
    schema.check(document);
  });
}

std::string folder_of_source(const std::string& source) {
  return source == "-" ? "." : std::filesystem::path(source).parent_path().string();
}

/// The scenario of a prepared document. `before` is the original scenario, if any.
Scenario scenario_of_files(json document, const std::string& source, const NamedFiles& files,
                           const Scenario* before) {
  Scenario scenario = about(source, [&] { return read_sections(document, files, before); });
  scenario.source = source;
  scenario.folder = folder_of_source(source);
  scenario.document = std::make_shared<const json>(std::move(document));
  return scenario;
}

/// Reads a document after settings changed it. `before` is the original scenario, if any.
Scenario read_document(json document, const std::string& source,
                       const std::vector<std::string>& settings, const Scenario* before) {
  prepare_document(document, source, settings);
  const NamedFiles files = read_named_files(document, source, folder_of_source(source));
  return scenario_of_files(std::move(document), source, files, before);
}

/// The files that a document names, and how they are to be read, as a text.
std::string names_of_files(const json& document) {
  const json& model = document["model"];
  json names = json::array();
  for (const char* key : {"file", "format", "arch"}) names.push_back(model.value(key, json()));
  names.push_back(document.value("partition", json::object()).value("file", json()));
  return names.dump();
}

}  // namespace

struct ScenarioReader::Known {
  std::string names;
  NamedFiles files;
};

ScenarioReader::ScenarioReader() = default;
ScenarioReader::~ScenarioReader() = default;

Scenario ScenarioReader::read(json document, const std::string& source) {
  prepare_document(document, source, {});
  const std::string names = source + names_of_files(document);
  if (known_ == nullptr || known_->names != names) {
    known_ = nullptr;
    NamedFiles files = read_named_files(document, source, folder_of_source(source));
    known_ = std::make_unique<Known>(Known{names, std::move(files)});
  }
  return scenario_of_files(std::move(document), source, known_->files, nullptr);
}

Scenario scenario_from(json document, const std::string& source,
                       const std::vector<std::string>& settings) {
  return read_document(std::move(document), source, settings, nullptr);
}

Scenario parse_scenario(const std::string& text, const std::string& source,
                        const std::vector<std::string>& settings) {
  return scenario_from(about(source, [&] { return parse_json(text); }), source, settings);
}

Scenario read_scenario(const std::string& path, const std::vector<std::string>& settings) {
  return parse_scenario(read_file(path), path, settings);
}

Scenario changed(const Scenario& scenario, const std::vector<std::string>& settings,
                 const std::vector<std::string>& left_out) {
  json document = *scenario.document;
  for (const std::string& section : left_out) document.erase(section);
  return read_document(std::move(document), scenario.source, settings, &scenario);
}

}  // namespace penstock
