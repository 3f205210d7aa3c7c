#pragma once

#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "experiments/scenario/codec_choice.hpp"
#include "experiments/scenario/hardware_section.hpp"
#include "experiments/scenario/memory_section.hpp"
#include "experiments/scenario/model_section.hpp"
#include "experiments/scenario/overheads_section.hpp"
#include "experiments/scenario/parallel_section.hpp"
#include "experiments/scenario/partition_section.hpp"
#include "experiments/scenario/recompute_section.hpp"
#include "experiments/scenario/schedule_section.hpp"
#include "sim/costs/chance.hpp"

namespace penstock {

/// What the user asked for, section by section: checked against the schema, each section against
/// itself. It does not change once it has been read; `settle` works out what it comes to.
struct Scenario {
  std::string source;  // the file it came from, for titles and error texts; "-" for standard input
  std::string folder;  // what its relative paths are seen from
  std::shared_ptr<const nlohmann::json> document;  // what was read, settings applied

  ModelSection model;
  HardwareSection hardware;
  PartitionSection partition;
  ParallelSection parallel;
  ScheduleSection schedule;
  RecomputeSection recompute;
  std::optional<Offload> offload;
  CodecChoice codec;
  MemorySection memory;
  OverheadsSection overheads;
  Chance chance;
  std::string expect;  // JSON text; empty when nothing is expected
};

/// Reads a scenario file ("-" for standard input), applies the settings, and checks it against the
/// schema. Throws InputError with the file's name in front, or UsageError for faulty settings.
Scenario read_scenario(const std::string& path, const std::vector<std::string>& settings = {});

/// The same for text that is already here.
Scenario parse_scenario(const std::string& text, const std::string& source,
                        const std::vector<std::string>& settings = {});

/// The same for a document that is already parsed.
Scenario scenario_from(nlohmann::json document, const std::string& source,
                       const std::vector<std::string>& settings = {});

/// Another scenario: the document of this one without some of its sections, with settings applied,
/// read and checked as if a user had written it. Throws as `read_scenario`.
Scenario changed(const Scenario& scenario, const std::vector<std::string>& settings,
                 const std::vector<std::string>& left_out = {});

/// The schema file, as shipped.
std::string_view scenario_schema();

}  // namespace penstock
