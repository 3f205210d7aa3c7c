#include "tests/support/chakra_runs.hpp"

#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "experiments/input/scenario/scenario.hpp"
#include "experiments/show/results/chakra_files.hpp"
#include "tests/support/scratch.hpp"

namespace penstock::testing {

using nlohmann::json;

json chakra_scenario(const std::string& schedule, std::size_t stages, int microbatches) {
  json all;
  for (std::size_t s = 0; s < stages; ++s) {
    all["model"]["stages"].push_back({{"forward_us", 4},
                                      {"backward_input_us", 7},
                                      {"backward_weight_us", 3},
                                      {"activation_bytes", 2000},
                                      {"stash_bytes", 3000},
                                      {"parameter_bytes", 1'000'000}});
  }
  all["hardware"] = {{"name", "ideal"}, {"latency_us", 1.5}, {"bandwidth_bytes_per_s", 1e9}};
  all["schedule"] = {{"name", schedule}, {"microbatches", microbatches}};
  return all;
}

json without_weights(json scenario) {
  for (json& stage : scenario["model"]["stages"]) stage["parameter_bytes"] = 0;
  return scenario;
}

RunResult chakra_run(const json& scenario) {
  const Scratch scratch;
  return run(read_scenario(scratch.file("scenario.json", scenario.dump()), {}));
}

Written written(const RunResult& result) {
  const Scratch scratch;
  Written all;
  OutputSet files;
  all.missing = write_chakra_files(scratch.path("t"), result, files);
  files.publish();
  for (std::uint64_t d = 0; std::filesystem::exists(chakra_path(scratch.path("t"), d)); ++d) {
    all.devices.push_back(read_chakra(content_of(chakra_path(scratch.path("t"), d))));
  }
  if (std::filesystem::exists(chakra_groups_path(scratch.path("t")))) {
    all.groups = content_of(chakra_groups_path(scratch.path("t")));
  }
  all.network = content_of(astra_network_path(scratch.path("t")));
  all.system = content_of(astra_system_path(scratch.path("t")));
  return all;
}

bool says(const Written& all, const std::string& what) {
  for (const std::string& sentence : all.missing) {
    if (sentence.find(what) != std::string::npos) return true;
  }
  return false;
}

}  // namespace penstock::testing
