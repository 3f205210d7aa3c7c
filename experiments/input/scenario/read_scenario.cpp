#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <utility>

#include "experiments/input/files/files.hpp"
#include "experiments/input/files/json_input.hpp"
#include "experiments/input/files/output_file.hpp"
#include "experiments/input/files/plain_text.hpp"
#include "experiments/input/files/quantity.hpp"
#include "experiments/input/files/setting.hpp"
#include "experiments/input/files/shipped.hpp"
#include "experiments/input/formats/reading/read_model_file.hpp"
#include "experiments/input/scenario/batch_section.hpp"
#include "experiments/input/scenario/scenario.hpp"
#include "experiments/input/scenario/section_parts.hpp"
#include "experiments/input/scenario/sections.hpp"
#include "sim/base/error.hpp"

namespace penstock {
namespace {

using nlohmann::json;

std::string folder_of_source(const std::string& source) {
  return source == "-" ? "." : std::filesystem::path(source).parent_path().string();
}

FileNames names_of_files(const json& document, const std::string& source) {
  FileNames names{.source = source};
  const auto file_at = [&](const char* pointer) {
    const json::json_pointer place(pointer);
    return document.contains(place) ? std::optional(document[place].get<std::string>())
                                    : std::nullopt;
  };
  names.model = file_at("/model/file");
  names.command = file_at("/model/command");
  names.cut = file_at("/partition/file");
  names.lengths = file_at("/batch/lengths/file");
  names.loads = file_at("/batch/router/file");
  if (!names.model) return names;
  const json& model = document["model"];
  names.format = model.value("format", "");
  names.architecture = model.value("arch", "");
  if (model.contains("image_tokens")) names.image_tokens = model["image_tokens"].get<double>();
  return names;
}

/// How a launch file trains, for a model of its own or of another file. The order that it names
/// lies beside it.
void take_command(ModelFile launch, const std::string& name, ModelFile& model) {
  if (!launch.command.pipeline && !launch.command.tensor) {
    throw InputError("/model/command", fmt::format("a file of the format {} states no training; "
                                                   "it goes under /model/file",
                                                   launch.format));
  }
  model.command = std::move(launch.command);
  model.stages = std::move(launch.stages);
  std::string& order = model.command.order_file;
  if (!order.empty()) order = (std::filesystem::path(name).parent_path() / order).string();
  model.notes.insert(model.notes.end(), launch.notes.begin(), launch.notes.end());
}

/// Errors start with the name of the faulty file.
NamedFiles read_files(const FileNames& names) {
  const std::string folder = folder_of_source(names.source);
  const auto path = [&](const char* pointer, const std::optional<std::string>& name) {
    return named_file(names.source, folder, pointer, *name);
  };
  NamedFiles files;
  if (names.model) {
    files.model =
        read_model_file(path("/model/file", names.model), {.format = names.format,
                                                           .architecture = names.architecture,
                                                           .image_tokens = names.image_tokens});
  }
  if (names.command) {
    take_command(read_model_file(path("/model/command", names.command)), *names.command,
                 files.model);
  }
  if (names.cut) files.cut = read_model_file(path("/partition/file", names.cut));
  if (names.lengths) files.lengths = read_lengths(path("/batch/lengths/file", names.lengths));
  if (names.loads) files.loads = read_loads(path("/batch/router/file", names.loads));
  return files;
}

/// The memory defaults: Adam for layers by kind, unless the command names another optimizer, with
/// the bytes of their precision.
MemorySection usual_memory(const ModelSection& model, const TrainingCommand& command) {
  MemorySection memory;
  memory.zero = command.zero.value_or(0);
  memory.shard_groups = command.shard_groups;
  if (!model.by_kind()) return memory;
  memory.optimizer = command.optimizer.value_or(Optimizer::adam);
  memory.gradients = command.gradients;
  memory.precision = usual_precision(model.dtype.value_or("bf16"));
  return memory;
}

/// Chunks from layers per stage, as torchtitan states them; a cut may count the ends as layers.
TrainingCommand with_chunks(TrainingCommand command, const ModelSpec& model) {
  if (!command.layers_per_stage) return command;
  const auto layers = std::ranges::count_if(
      model.blocks, [&](const auto& one) { return one.cut_evenly || command.partition != "even"; });
  const auto ranks = static_cast<std::int64_t>(command.pipeline.value_or(1));
  const auto stages = (layers + *command.layers_per_stage - 1) / *command.layers_per_stage;
  if (stages == 0 || stages % ranks != 0) {
    throw InputError("/model/command",
                     fmt::format("{} layers per stage are {} stages, which {} pipeline ranks do "
                                 "not share",
                                 *command.layers_per_stage, stages, ranks));
  }
  command.chunks = static_cast<std::uint32_t>(stages / ranks);
  return command;
}

/// The keys of "expect" are names or pointers into the result. A text with a unit is a number by
/// now; one that stayed has a wrong unit.
std::string read_expectations(const json& expect) {
  for (const auto& [key, value] : expect.items()) {
    const std::string place = (json::json_pointer("/expect") / key).to_string();
    const auto measure = value.is_string() ? measure_of_key(key) : std::nullopt;
    try {
      if (measure) (void)quantity_of(value.get<std::string>(), *measure);
      if (key.find('/') != std::string::npos) (void)json::json_pointer(key);
    } catch (const InputError& error) {
      throw InputError(place, error.what());
    } catch (const json::exception&) {
      throw InputError(place, fmt::format("\"{}\" is no JSON pointer{}", key,
                                          key.starts_with('/') ? "" : ", which begins with \"/\""));
    }
  }
  return expect.dump();
}

std::string codec_text(const json& document) {
  const auto section = document.find("codec");
  return section == document.end() ? "{}" : section->dump();
}

Scenario read_sections(const json& document, const NamedFiles& files, KnownSections& known) {
  const json nothing = json::object();
  const auto has = [&](const char* name) { return document.contains(name); };
  const auto section = [&](const char* name) -> const json& {
    return has(name) ? document[name] : nothing;
  };
  Scenario scenario;
  scenario.model = read_model(document["model"], files.model);
  const TrainingCommand command = with_chunks(files.model.command, scenario.model.spec);
  scenario.hardware = read_hardware(section("hardware"), command);
  scenario.hardware.stated.precision = scenario.model.dtype.value_or("bf16");
  scenario.partition = read_partition(section("partition"), files.model, files.cut);
  scenario.parallel = read_parallel(section("parallel"), command);
  if (has("modules")) scenario.module = read_module(document["modules"]);
  scenario.schedule = read_schedule(has("schedule") ? &document["schedule"] : nullptr, command);
  scenario.recompute = read_recompute(section("recompute"), command);
  scenario.offload = read_offload(has("offload") ? &document["offload"] : nullptr, command);
  scenario.codec = *known.codecs.get(codec_text(document),  // searching formats is slow
                                     [&] { return read_codec_choice(section("codec")); });
  scenario.memory = read_memory(section("memory"), usual_memory(scenario.model, command));
  read_fields(overheads_fields(), section("overheads"), &scenario.overheads);
  if (has("batch")) scenario.batch = read_batch(document["batch"], files.lengths, files.loads);
  ChanceSection chance = read_chance(section("chance"));
  scenario.chance = std::move(chance.chance);
  scenario.slow_machines = chance.slow_machines;
  if (has("expect")) scenario.expect = read_expectations(document["expect"]);
  return scenario;
}

/// Throws for what Penstock writes of runs as JSON, whose keys are no scenario's.
void check_written(const json& document) {
  if (!document.is_object() || document.contains("model")) return;
  const json kind = document.value("kind", json());
  const bool marked = document.value("comment", json()) == own_mark;
  if (!kind.is_string() && !marked) return;
  const std::string what = kind.is_string() ? kind.get<std::string>() : "result";
  throw InputError(fmt::format(
      "this is a {} as JSON, not a scenario{}", shortened(what),
      what == "timeline" ? "; it is not read again: convert the .timeline file, or the scenario"
                         : ""));
}

/// A model's file is not a scenario; says how to make one of it.
void check_kind(const json& document, const std::string& source) {
  check_written(document);
  const bool is_config = document.is_object() && !document.contains("model") &&
                         (document.contains("model_type") || document.contains("architectures"));
  if (!is_config) return;
  throw InputError(fmt::format(
      "this is the config of a model, not a scenario; for one: penstock new --model {} --hardware "
      "MACHINE --devices N, or a scenario with \"model\": {{\"file\": …}}",
      source == "-" ? "FILE" : source));
}

/// Whether a text is a stage, a pass and a microbatch, as cells of an order are: "0F0".
bool is_cell(std::string_view text) {
  const auto take_digits = [&text] {
    const std::size_t count = std::min(text.find_first_not_of("0123456789"), text.size());
    text.remove_prefix(count);
    return count > 0;
  };
  if (!take_digits() || text.find_first_of("FBIW") != 0) return false;
  text.remove_prefix(1);
  return take_digits() && text.empty();
}

/// An order has a cell in its first row that is not blank.
void refuse_order(std::string_view text) {
  text.remove_prefix(std::min(text.find_first_not_of(" \t\r\n,"), text.size()));
  if (text.starts_with('{') || text.starts_with('[')) return;
  for (std::string_view row = take_until(text, '\n'); !row.empty();) {
    if (!is_cell(trimmed(take_until(row, ',')))) continue;
    throw InputError(
        "this is an order, which has no times; name it in a scenario: \"schedule\": {\"file\": "
        "\"ORDER.csv\"}");
  }
}

/// Of what is no JSON, or states no model, the error says rather what it is.
json parse_document(const std::string& text, const std::string& source) {
  json document;
  try {
    document = parse_json(text);
  } catch (const InputError&) {
    refuse_model(text);
    refuse_order(text);
    throw;
  }
  check_kind(document, source);
  if (document.is_object() && !document.contains("model")) refuse_model(text);
  return document;
}

/// "penstock": another format version gets its own error.
void check_version(const json& document) {
  if (!document.is_object() || !document.contains("penstock") || document["penstock"] == 1) return;
  throw InputError("/penstock", fmt::format("format version {} is unknown; this program reads 1",
                                            document["penstock"].dump()));
}

/// Checks a document and brings its numbers to their units.
void prepare_document(json& document, const std::string& source,
                      const std::vector<std::string>& settings) {
  static const Schema schema(scenario_schema());
  about_file(source, [&] {
    check_kind(document, source);
    apply_settings(document, settings);
    check_version(document);
    take_quantities(document, schema);
  });
}

/// Reads a document after settings changed it.
Scenario read_document(json document, const std::string& source,
                       const std::vector<std::string>& settings, KnownSections& known) {
  prepare_document(document, source, settings);
  const FileNames names = names_of_files(document, source);
  const auto files = known.files.get(names, [&] { return read_files(names); });
  Scenario scenario = about_file(source, [&] { return read_sections(document, *files, known); });
  scenario.source = source;
  scenario.folder = folder_of_source(source);
  scenario.document = std::make_shared<const json>(std::move(document));
  return scenario;
}

}  // namespace

std::size_t hash_of(const FileNames& names) {
  return hash_of_all(names.source, names.model, names.command, names.cut, names.format,
                     names.architecture, names.lengths, names.loads, names.image_tokens);
}

Scenario scenario_from(json document, const std::string& source, KnownSections& known) {
  return read_document(std::move(document), source, {}, known);
}

Scenario scenario_from(json document, const std::string& source,
                       const std::vector<std::string>& settings) {
  KnownSections known;
  return read_document(std::move(document), source, settings, known);
}

Scenario parse_scenario(const std::string& text, const std::string& source,
                        const std::vector<std::string>& settings) {
  const auto parsed = [&] {
    check_configuration(text);
    refuse_run(text);
    return parse_document(text, source);
  };
  return scenario_from(about_file(source, parsed), source, settings);
}

Scenario read_scenario(const std::string& path, const std::vector<std::string>& settings) {
  const std::string file = input_path(path);
  return parse_scenario(read_configuration(file), file, settings);
}

Scenario changed(const Scenario& scenario, const std::vector<std::string>& settings,
                 const std::vector<std::string>& left_out) {
  KnownSections known;
  return changed(scenario, settings, left_out, known);
}

Scenario changed(const Scenario& scenario, const std::vector<std::string>& settings,
                 const std::vector<std::string>& left_out, KnownSections& known) {
  json document = *scenario.document;
  for (const std::string& section : left_out) document.erase(section);
  known.codecs.get(codec_text(*scenario.document), [&] { return scenario.codec; });
  return read_document(std::move(document), scenario.source, settings, known);
}

}  // namespace penstock
