#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace penstock {

/// A request with its model and machine read, and defaults filled in.
struct TrainingTask {
  std::string source;    // the scenario's file, for error texts
  std::string model;     // as named in the scenario
  std::string hardware;  // a name of the catalogue, or a file as named in the scenario
  bool hardware_is_file = false;
  std::uint32_t devices = 1;
  std::uint64_t machine_devices = 1;  // of one machine
  bool by_kind = false;               // layers by kind; else by times of one microbatch
  std::uint64_t layers = 1;           // layers that an even cut counts
  std::uint64_t heads = 0;            // greatest common divisor over all layers; 0: none
  std::uint64_t experts = 1;          // likewise; 1: none
  std::optional<std::uint32_t> sequence = {};
  std::uint32_t microbatch = 1;
  bool microbatch_given = false;   // by the request or the model's file
  bool states_microbatch = false;  // the scenario has the key
  std::uint32_t global_batch = 1;
  std::vector<std::string> settings = {};  // of every scenario, as for --set
  std::vector<std::string> changes = {};   // behind these, as for --change
  std::string writer = "penstock new";     // named in scenarios
};

}  // namespace penstock
