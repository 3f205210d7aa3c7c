#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "experiments/hardware_choice.hpp"
#include "experiments/recompute_mode.hpp"
#include "hardware_models/registry.hpp"
#include "schedules/offload.hpp"
#include "sim/chance.hpp"
#include "sim/conditions.hpp"
#include "sim/model_graph.hpp"
#include "sim/schedule.hpp"
#include "sim/training.hpp"

namespace penstock {

/// What happens when a rank needs more memory than it has.
enum class MemoryPolicy : std::uint8_t { finding, stall };

/// What the user asked for, checked against the schema but not yet against itself.
struct Scenario {
  std::string source;  // the file it came from, for titles and error texts; "-" for standard input
  std::string folder;  // what its relative paths are seen from

  ModelGraph model;
  bool stages_given = false;  // each layer of the model is one model stage

  std::string hardware = "ideal";  // a cost model, or a machine or device of the catalogue
  bool hardware_named = false;     // the scenario says so itself
  HardwareChoice hardware_choice;
  HardwareSpec hardware_spec;
  std::optional<std::uint32_t> devices;

  std::string partitioner = "even";
  std::vector<std::vector<LayerIndex>> partition_stages;
  std::vector<std::vector<Rank>> partition_ranks;

  std::optional<std::uint32_t> pipeline;
  std::optional<std::uint32_t> chunks;
  std::uint32_t tensor = 1;
  std::uint32_t data = 1;
  std::uint32_t context = 1;
  std::uint32_t expert = 1;

  std::string schedule;    // a rule, or
  std::string policy;      // what decides while it runs, or
  std::string order_file;  // a file as the scenario names it
  std::vector<std::vector<Stage>> chains;
  std::optional<std::uint32_t> microbatches;
  std::uint32_t samples_per_microbatch = 1;
  Overlap overlap = Overlap::serial;
  std::map<std::string, std::string, std::less<>> schedule_settings;

  std::optional<Offload> offload;
  std::optional<RecomputeMode> recompute;  // not stated: full
  bool recompute_early = false;

  std::optional<std::uint64_t> capacity_bytes;  // where not stated, what a machine's device has
  MemoryPolicy memory_policy = MemoryPolicy::finding;
  Optimizer optimizer = Optimizer::none;
  std::uint32_t zero = 0;

  double tied_embedding_bytes = 0;
  double optimizer_us = 0;

  double launch_us = 0;
  double issue_us = 0;
  Conditions conditions;  // but for the network and what memory there is

  Chance chance;

  std::string expect;  // JSON text; empty when nothing is expected
};

/// Reads a scenario file ("-" for standard input), applies the settings, and checks it against the
/// schema. Throws InputError with the file's name in front, or UsageError for faulty settings.
Scenario read_scenario(const std::string& path, const std::vector<std::string>& settings = {});

/// The same for text that is already here.
Scenario parse_scenario(const std::string& text, const std::string& source,
                        const std::vector<std::string>& settings = {});

/// The schema file, as shipped.
std::string_view scenario_schema();

}  // namespace penstock
