#pragma once

#include <cstddef>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "experiments/run/run.hpp"
#include "tests/support/chakra_reader.hpp"

namespace penstock::testing {

/// Stages of 4, 7 and 3 us, joined by links of 1.5 us and 1 GB/s, over which activations of 2000
/// bytes take 2 us.
nlohmann::json chakra_scenario(const std::string& schedule, std::size_t stages, int microbatches);

/// The same where copies of a stage on several ranks have nothing to sum.
nlohmann::json without_weights(nlohmann::json scenario);

/// The run of a scenario.
RunResult chakra_run(const nlohmann::json& scenario);

/// What was written for a run, as it reads back.
struct Written {
  std::vector<ReadTrace> devices;
  std::string groups;
  std::string network, system;  // of ASTRA-sim
  std::vector<std::string> missing;
};

Written written(const RunResult& result);

/// Whether one of the sentences on what traces lack has these words.
bool says(const Written& all, const std::string& what);

}  // namespace penstock::testing
