#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "experiments/input/fields/fields.hpp"
#include "experiments/input/model_files/model_file.hpp"
#include "schedules/partitioners/problem/cut_problem.hpp"
#include "sim/base/numbers.hpp"

namespace penstock {

/// "partition": how the model is cut into stages, and which ranks hold them.
struct PartitionSection {
  bool stated = false;  // stated by the scenario, which overrides the model's file
  std::string name = "even";
  CutSettings settings;                         // of the partitioner
  std::vector<std::vector<LayerIndex>> stages;  // layers of each stage, if given
  std::vector<std::vector<Rank>> ranks;         // by stage, if given
};

const Fields& partition_fields();

/// Reads the section, after the schema check. An open cut is taken from the model's file. `cut` is
/// the file that the section names. Throws InputError with a pointer into the scenario.
PartitionSection read_partition(const nlohmann::json& section, const ModelFile& model,
                                const std::optional<ModelFile>& cut);

/// The settings of a partitioner from "key=value" texts. Throws UsageError.
CutSettings cut_settings_of(const std::vector<std::string>& settings,
                            const std::string& partitioner);

}  // namespace penstock
