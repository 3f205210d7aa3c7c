#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "experiments/input/files/output_file.hpp"
#include "experiments/input/long_work/progress.hpp"
#include "experiments/run/run.hpp"

namespace penstock {

/// Limit on the trace files of one run.
constexpr std::uint64_t most_chakra_files = 65'536;

/// The trace of a device, "PREFIX.3.et", the process groups, "PREFIX.groups.json", and what
/// ASTRA-sim needs besides: "PREFIX.network.yml" and "PREFIX.system.json".
std::string chakra_path(std::string_view prefix, std::uint64_t device);
std::string chakra_groups_path(std::string_view prefix);
std::string astra_network_path(std::string_view prefix);
std::string astra_system_path(std::string_view prefix);

/// Whether a path may be one of the files with this prefix.
bool is_chakra_path(std::string_view prefix, std::string_view path);

/// Writes the Chakra execution traces of a run, which must have a plan: one file per device, and
/// the process groups if collectives need them, and network and system of ASTRA-sim. Returns what
/// the traces lack and what ASTRA-sim changes, one sentence each.
/// Throws UsageError for too many files and for unwritable paths, std::runtime_error for a full
/// disk.
std::vector<std::string> write_chakra_files(const std::string& prefix, const RunResult& result,
                                            OutputSet& outputs, const OnProgress& on_progress = {});

}  // namespace penstock
