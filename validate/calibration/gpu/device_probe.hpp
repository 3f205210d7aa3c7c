#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/parameters.hpp"
#include "validate/calibration/term_model.hpp"
#include "validate/store/stored_row.hpp"

namespace penstock {

/// What other ranks of a GPU ran during a measurement.
struct Neighbours {
  std::string kernel;       // empty: nothing
  std::uint32_t count = 0;  // ranks that ran it
  bool in_part = false;     // not during the whole measurement
};

/// Of "solo", "pair:bytes x3" and "pair:bytes x3 in part"; nothing for any other condition.
std::optional<Neighbours> neighbours_of(std::string_view condition);

/// A kernel measured on a GPU.
struct DeviceProbe {
  std::string kernel;
  std::string pass;
  NamedNumbers sizes;
  Neighbours beside;
  std::string shape;
  std::string condition;
  std::vector<double> samples_ns;
  SampleSpread time_ns;

  /// A size of its shape; 0 if it has none of this name.
  double size(std::string_view name) const;
};

/// The rows whose shape is sizes by name and whose condition names neighbours; other rows are left
/// out.
std::vector<DeviceProbe> device_probes(std::span<const ProfileRow> rows);

/// Those of a kernel; with `alone`, only those without neighbours.
std::vector<DeviceProbe> probes_of(std::span<const DeviceProbe> probes, std::string_view kernel,
                                   bool alone = true);

/// The number of different values of a size.
std::size_t different_sizes(std::span<const DeviceProbe> probes, std::string_view name);

}  // namespace penstock
