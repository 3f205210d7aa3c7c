#pragma once

#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "experiments/input/long_work/memo.hpp"
#include "experiments/input/scenario/batch_section.hpp"
#include "experiments/input/scenario/codec_choice.hpp"
#include "experiments/input/scenario/hardware_section.hpp"
#include "experiments/input/scenario/model_section.hpp"
#include "experiments/input/scenario/partition_section.hpp"
#include "experiments/input/scenario/sections.hpp"
#include "sim/costs/chance.hpp"

namespace penstock {

/// The user's request, section by section: checked against the schema, then each section against
/// itself. It never changes after reading; `settle` derives the layout.
struct Scenario {
  std::string source;  // the file it came from, for titles and error texts; "-" for standard input
  std::string folder;  // base of its relative paths
  std::shared_ptr<const nlohmann::json> document;  // as read, with settings applied

  ModelSection model;
  HardwareSection hardware;
  PartitionSection partition;
  ParallelSection parallel;
  std::optional<ModuleSection> module;
  ScheduleSection schedule;
  RecomputeSection recompute;
  std::optional<OffloadSection> offload;
  CodecChoice codec;
  MemorySection memory;
  OverheadsSection overheads;
  std::optional<BatchSection> batch;
  Chance chance;
  std::optional<SlowMachines> slow_machines;
  std::string expect;  // JSON text; empty without expectations
};

/// Reads a scenario file ("-": standard input; see `input_path`), applies settings, checks the
/// schema. Throws InputError with the file's name in front, or UsageError for invalid settings.
Scenario read_scenario(const std::string& path, const std::vector<std::string>& settings = {});

/// Reads a scenario from text.
Scenario parse_scenario(const std::string& text, const std::string& source,
                        const std::vector<std::string>& settings = {});

/// Reads a scenario from a parsed document.
Scenario scenario_from(nlohmann::json document, const std::string& source,
                       const std::vector<std::string>& settings = {});

/// The files that a scenario names, and how they are to be read.
struct FileNames {
  std::string source;  // of the scenario, whose folder they are relative to
  std::optional<std::string> model, command, cut;
  std::optional<std::string> lengths, loads;  // of documents, of experts
  std::string format, architecture;           // of the model; empty: as its file says
  std::optional<double> image_tokens;

  friend bool operator==(const FileNames&, const FileNames&) = default;
};
std::size_t hash_of(const FileNames& names);

struct NamedFiles {
  ModelFile model;
  std::optional<ModelFile> cut;  // how its layers are cut into stages
  std::vector<Document> lengths;
  std::vector<double> loads;
};

/// What scenarios that are read one after the other share.
struct KnownSections {
  Memo<FileNames, const NamedFiles> files{4};
  Memo<std::string, const CodecChoice> codecs{4};  // by the text of their section
};

/// Reads a scenario from a parsed document; files that are known are not read again.
Scenario scenario_from(nlohmann::json document, const std::string& source, KnownSections& known);

/// A changed scenario: this document without the sections `left_out`, with settings applied, read
/// and checked like a user's file. Throws as `read_scenario`.
Scenario changed(const Scenario& scenario, const std::vector<std::string>& settings,
                 const std::vector<std::string>& left_out = {});
Scenario changed(const Scenario& scenario, const std::vector<std::string>& settings,
                 const std::vector<std::string>& left_out, KnownSections& known);

/// A section and the table of its keys.
struct NamedSection {
  std::string_view name;
  const Fields* fields;
};
const std::vector<NamedSection>& scenario_sections();

/// What scenarios may say: the tables of their sections as a JSON schema.
const nlohmann::json& scenario_schema();
std::string_view scenario_schema_text();

}  // namespace penstock
