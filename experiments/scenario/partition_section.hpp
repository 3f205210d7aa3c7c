#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "experiments/model_files/model_file.hpp"
#include "sim/base/numbers.hpp"

namespace penstock {

/// "partition": how the model is cut into stages, and which ranks hold them.
struct PartitionSection {
  bool stated = false;  // the scenario says how the model is cut, whatever its file says
  std::string name = "even";
  std::vector<std::vector<LayerIndex>> stages;  // of layers, where they are given
  std::vector<std::vector<Rank>> ranks;         // by stage, where they are given
};

/// Reads the section, which the schema has checked. Where it leaves the cut open, that of the
/// model's file counts; `cut` is the file that the section names. Throws InputError with a pointer
/// into the scenario.
PartitionSection read_partition(const nlohmann::json& section, const ModelFile& model,
                                const std::optional<ModelFile>& cut);

}  // namespace penstock
