#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "experiments/input/profiles/profile_rows.hpp"
#include "validate/calibration/gpu/device_fit.hpp"
#include "validate/store/stored_row.hpp"

namespace penstock {

/// Reads what `penstock_gpu_check --all FOLDER` measured: `path` is FOLDER or FOLDER/probes.jsonl,
/// and facts.jsonl is beside it. Rows in the order of lines. Throws InputError with file and line.
std::vector<ProfileRow> read_probes(const std::string& path);

/// Rows that were added to a store.
struct AddedProbes {
  std::vector<RowId> rows;
  std::size_t known = 0;  // were there before: the same measurement
};
AddedProbes add_probes(ProfileStore& store, const std::vector<ProfileRow>& rows);

/// Rows judged as in a store of their own.
JudgedRows judged_probes(const std::string& source, const std::vector<ProfileRow>& rows,
                         const Today& today);

/// The probes of one GPU.
struct ProbeRows {
  std::map<std::string, std::string> environment;
  std::vector<ProfileRow> rows;  // the newest of each point, not retired
  std::size_t suspect = 0;       // among these
  std::size_t retired = 0;       // left out
};

/// Those of the only GPU, or of the environment of this number. Throws InputError where there are
/// none, or several GPUs to choose from.
ProbeRows probe_rows(const JudgedRows& judged, std::optional<std::int64_t> environment = {});

/// What was fitted to the measurements of a GPU.
struct DeviceReport {
  ProbeRows probes;
  std::vector<DeviceFit> fits;
  std::size_t on_parts = 0;  // left out: on parts of the SMs, which the driver did not split
};
DeviceReport device_report(ProbeRows probes, const BootstrapPlan& plan = {});

nlohmann::ordered_json device_report_json(const DeviceReport& report);
/// Constants with intervals, errors, and the points with the largest errors.
std::string device_report_text(const DeviceReport& report);

}  // namespace penstock
