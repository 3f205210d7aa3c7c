#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "experiments/measure/gpu_probes/probe_rows.hpp"
#include "validate/calibration/gpu/device_fit.hpp"

namespace penstock {

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
