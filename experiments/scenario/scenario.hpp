#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "experiments/model_files/optimizer.hpp"
#include "experiments/model_files/recompute_mode.hpp"
#include "experiments/scenario/codec_choice.hpp"
#include "experiments/scenario/hardware_section.hpp"
#include "hardware_models/registry.hpp"
#include "hardware_models/spec/model_spec.hpp"
#include "schedules/patterns/offload.hpp"
#include "sim/costs/chance.hpp"
#include "sim/costs/conditions.hpp"
#include "sim/model/model_graph.hpp"
#include "sim/order/schedule.hpp"

namespace penstock {

/// What happens when a rank needs more memory than it has.
enum class MemoryPolicy : std::uint8_t { finding, stall };

/// What the user asked for, checked against the schema but not yet against itself.
struct Scenario {
  std::string source;  // the file it came from, for titles and error texts; "-" for standard input
  std::string folder;  // what its relative paths are seen from

  ModelGraph model;           // by times, or
  ModelSpec model_spec;       // by kinds of layers
  bool stages_given = false;  // each layer of the model is one model stage
  bool model_from_file = false;
  std::optional<double> sequence;  // tokens of one example
  std::optional<double> max_sequence;
  std::optional<double> microbatch;  // examples that a device works on at a time
  std::optional<double> profiled_microbatch;
  std::optional<std::string> dtype;
  std::vector<std::string> notes;  // of the model's file: what was assumed

  std::string hardware = "ideal";  // a cost model, or a machine or device of the catalogue
  bool hardware_named = false;     // the scenario says so itself
  HardwareChoice hardware_choice;
  HardwareSpec hardware_spec;
  bool allows_stale = false;  // rows of a profile that are suspect are used all the same
  std::optional<std::uint32_t> devices;

  bool cut_stated = false;  // the scenario says how the model is cut, whatever its file says
  std::string partitioner = "even";
  std::vector<std::vector<LayerIndex>> partition_stages;
  std::vector<std::vector<Rank>> partition_ranks;

  std::optional<std::uint32_t> pipeline;
  std::optional<std::uint32_t> chunks;
  std::uint32_t tensor = 1;
  std::uint32_t data = 1;
  std::uint32_t context = 1;
  std::uint32_t expert = 1;
  bool sequence_parallel = false;
  bool overlaps_sums = true;

  std::string schedule;    // a rule, or
  std::string policy;      // what decides while it runs, or
  std::string order_file;  // a file as the scenario names it
  std::vector<std::vector<Stage>> chains;
  std::optional<std::uint32_t> microbatches;
  std::optional<std::uint32_t> global_batch;     // examples of an iteration
  std::optional<double> samples_per_microbatch;  // settled once the scenario has been read
  Overlap overlap = Overlap::serial;
  std::map<std::string, std::string, std::less<>> schedule_settings;

  std::optional<Offload> offload;
  std::optional<RecomputeMode> recompute;  // not stated: full
  bool recompute_early = false;
  std::optional<RecomputeUnit> recompute_unit;

  CodecChoice codec;

  std::optional<std::uint64_t> capacity_bytes;  // where not stated, what a machine's device has
  MemoryPolicy memory_policy = MemoryPolicy::finding;
  Optimizer optimizer = Optimizer::none;
  Precision precision = Precision::bf16;
  std::optional<BytesPerParameter> bytes_per_parameter;  // instead of these two
  std::uint32_t zero = 0;
  std::optional<double> gathered_bytes;  // of parameters at a time, with ZeRO-3
  std::optional<double> context_bytes;   // where not stated, what a machine's device takes
  std::optional<double> reserve;         // of the capacity; the same

  double tied_embedding_bytes = 0;
  std::optional<double> optimizer_us;  // where not stated, what the memory of a machine takes
  std::optional<double> warm_up_us;    // what the first iteration takes longer; the same

  double launch_us = 0;
  double issue_us = 0;
  Conditions conditions;  // but for the network and what memory there is

  Chance chance;

  std::string expect;  // JSON text; empty when nothing is expected
};

/// Reads a scenario file ("-" for standard input), applies the settings, and checks it against the
/// schema. Throws InputError with the file's name in front, or UsageError for faulty settings.
Scenario read_scenario(const std::string& path, const std::vector<std::string>& settings = {});

/// The same for text that is already here. Whoever reads many scenarios may read the catalogue
/// once for all of them.
Scenario parse_scenario(const std::string& text, const std::string& source,
                        const std::vector<std::string>& settings = {},
                        const Catalogue* catalogue = nullptr);

/// The schema file, as shipped.
std::string_view scenario_schema();

}  // namespace penstock
