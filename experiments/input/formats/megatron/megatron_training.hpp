#pragma once

#include <string>
#include <vector>

#include "experiments/input/formats/megatron/megatron_command.hpp"
#include "experiments/input/formats/megatron/megatron_stages.hpp"
#include "experiments/input/model_files/model_file.hpp"

namespace penstock {

/// How a command trains: degrees of parallelism, batch, precision, recomputation and optimizer.
/// Notes report differences from Megatron-LM.
TrainingCommand megatron_training(MegatronCommand& command, const MegatronStages& cut,
                                  std::vector<std::string>& notes);

}  // namespace penstock
