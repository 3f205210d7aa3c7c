#pragma once

#include <string>
#include <vector>

#include "validate/store/stored_row.hpp"

namespace penstock {

/// Reads what `penstock_gpu_check --all FOLDER` measured: `path` is FOLDER or FOLDER/probes.jsonl,
/// and facts.jsonl is beside it. Rows in the order of lines. Throws InputError with file and line.
std::vector<ProfileRow> read_probes(const std::string& path);

}  // namespace penstock
