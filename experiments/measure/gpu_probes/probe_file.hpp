#pragma once

#include <map>
#include <string>
#include <vector>

#include "validate/store/stored_row.hpp"

namespace penstock {

/// What the facts of penstock_gpu_check (facts.jsonl) say about a folder of measurements.
struct ProbeFacts {
  /// By the keys of the store: device, cc, sms, driver, cudart, cublaslt, os, cpu …
  std::map<std::string, std::string> environment;
  std::map<std::string, std::string> algorithm_of;  // of cuBLASLt, by the shape of a product
};

/// Reads facts.jsonl. Throws InputError, with file and line, for what is no fact, for facts about
/// several machines, and without a fact about the device.
ProbeFacts read_probe_facts(const std::string& path);

/// Reads what `penstock_gpu_check --all FOLDER` measured: `path` is FOLDER or FOLDER/probes.jsonl,
/// and facts.jsonl is beside it. Rows in the order of lines. Throws InputError with file and line.
std::vector<ProfileRow> read_probes(const std::string& path);

}  // namespace penstock
