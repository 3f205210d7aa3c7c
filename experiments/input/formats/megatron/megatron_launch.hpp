#pragma once

#include <optional>
#include <string>
#include <vector>

#include "experiments/input/model_files/launch.hpp"
#include "hardware_models/spec/model_spec.hpp"

namespace penstock {

/// An argument of Megatron-LM, with the place of the same fact in a config of Megatron-Bridge.
struct MegatronArgument {
  std::string name;         // empty: left out of scripts
  std::string value = {};   // empty: a flag, which is false where it is left out
  std::string bridge = {};  // "model.sequence_parallel"; empty: none
};

/// Of a transformer: sizes, norms, attention, experts. A window of the whole sequence is left out.
std::vector<MegatronArgument> model_arguments(const ModelSpec& model,
                                              std::optional<double> sequence = {});
/// Of a training: degrees, batch, cut, recomputation, optimizer.
std::vector<MegatronArgument> training_arguments(const TrainingLaunch& launch);

/// Stages as --pipeline-model-parallel-layout takes them: "Et*2|(t*3|)*2tL".
std::string pipeline_layout(const TrainingLaunch& launch);

/// What starts a training: a shell script, which takes more arguments at its end, and overrides for
/// a recipe of Megatron-Bridge as YAML.
/// The first kind of layer, or detail of one, that the script's arguments do not have; empty: none.
std::string missing_in_script(const ModelSpec& model);
std::string megatron_script(const TrainingLaunch& launch);
std::string bridge_overrides(const TrainingLaunch& launch);

}  // namespace penstock
