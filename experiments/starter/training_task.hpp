#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "experiments/catalogue/catalogue.hpp"

namespace penstock {

/// What a starter is asked for.
struct StarterRequest {
  std::string model;     // a file of any format that a scenario reads
  std::string hardware;  // a machine of the catalogue
  std::uint32_t devices = 1;
  std::optional<std::uint32_t> sequence = {};
  std::optional<std::uint32_t> microbatch = {};
  std::optional<std::uint32_t> global_batch = {};
  std::string output = {};  // the file that the scenario goes to; empty or "-": standard output
};

/// A request with its model and machine read, and defaults filled in.
struct TrainingTask {
  std::string source;  // the scenario's file, for error texts
  std::string model;   // as the scenario names it
  std::string hardware;
  std::uint32_t devices = 1;
  std::uint64_t machine_devices = 1;  // of one machine
  bool by_kind = false;               // layers by kind; else by times of one microbatch
  std::uint64_t layers = 1;           // that an even cut counts
  std::uint64_t heads = 0;            // greatest number that divides those of all layers; 0: none
  std::uint64_t experts = 1;          // the same of experts; 1: none
  std::optional<std::uint32_t> sequence = {};
  std::uint32_t microbatch = 1;
  bool microbatch_given = false;   // by the request or the model's file
  bool states_microbatch = false;  // the scenario has the key
  std::uint32_t global_batch = 1;
};

/// Reads the model and looks up the machine. Throws UsageError for an unknown machine and for a
/// model that is not a file, InputError for a model that a scenario refuses.
TrainingTask training_task(const StarterRequest& request, const Catalogue& catalogue);

/// A path as a file of `folder` must name it: as it is where it is absolute or `folder` is the
/// working folder.
std::string path_seen_from(const std::string& folder, const std::string& path);

}  // namespace penstock
