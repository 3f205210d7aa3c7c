#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "experiments/input/catalogue/catalogue.hpp"
#include "experiments/plan/planner/space/training_task.hpp"

namespace penstock {

/// The user's request.
struct TrainingRequest {
  std::string model;     // a file of any format that a scenario reads
  std::string hardware;  // a machine of the catalogue, or its file
  std::uint32_t devices = 1;
  std::optional<std::uint32_t> sequence = {};
  std::optional<std::uint32_t> microbatch = {};
  std::optional<std::uint32_t> global_batch = {};
  std::string output = {};  // the file that the scenario goes to; empty or "-": standard output
  std::vector<std::string> settings = {};  // of every scenario, as for --set
  std::vector<std::string> changes = {};   // behind these, as for --change
  std::string writer = "penstock new";     // named in scenarios
};

/// Reads the model and looks up the machine. Throws UsageError for an unknown machine, a model on
/// standard input and an output without a folder, InputError for a model that a scenario refuses.
TrainingTask read_training_task(const TrainingRequest& request, const Catalogue& catalogue);

/// The path of a file relative to `folder`; unchanged if it is absolute or `folder` is the working
/// folder.
std::string path_seen_from(const std::string& folder, const std::string& path);

}  // namespace penstock
