#pragma once

#include <cstdint>
#include <string>

#include "experiments/run/run_result.hpp"

namespace penstock {

/// Bytes for ranks of this capacity: in GiB if the capacity is at least one GiB.
std::string bytes_of_rank_text(std::uint64_t bytes, std::uint64_t capacity);

/// Adds a finding for each rank of a finished run that needs more memory than it has.
void add_memory_findings(RunResult& result);

}  // namespace penstock
