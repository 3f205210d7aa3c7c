#pragma once

#include <string>
#include <vector>

#include "experiments/formats/megatron/megatron_command.hpp"
#include "experiments/formats/megatron/megatron_stages.hpp"
#include "experiments/model_files/model_file.hpp"

namespace penstock {

/// How a command trains: degrees, batch, format of numbers, recomputation and optimizer. Notes say
/// where a run here differs from what Megatron-LM would do.
TrainingCommand megatron_training(MegatronCommand& command, const MegatronStages& cut,
                                  std::vector<std::string>& notes);

}  // namespace penstock
