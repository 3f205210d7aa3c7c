#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "experiments/input/formats/megatron/megatron_command.hpp"
#include "experiments/input/formats/megatron/megatron_stages.hpp"
#include "experiments/input/model_files/model_file.hpp"

namespace penstock {

/// How a command trains: degrees of parallelism, batch, precision, recomputation and optimizer.
/// Notes report differences from Megatron-LM.
TrainingCommand megatron_training(MegatronCommand& command, const MegatronStages& cut,
                                  std::vector<std::string>& notes);

/// The --recompute-modules of operators as scenarios name them; those without a module are left
/// out.
std::vector<std::string> recompute_modules(const std::vector<std::string>& operators);

/// A type of products below 16 bits as arguments.
struct MegatronDtype {
  std::string_view dtype;  // of a scenario
  const char* argument;
  const char* format;
  std::string_view recipe;  // --fp8-recipe
  const char* gather;       // where weights are gathered in this type
};
std::span<const MegatronDtype> megatron_dtypes();

}  // namespace penstock
