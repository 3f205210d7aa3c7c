#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>

namespace penstock {

/// "overheads": time spent outside passes.
struct OverheadsSection {
  std::optional<double> optimizer_us;  // default: the time of the machine's memory traffic
  std::optional<double> warm_up_us;    // extra time of the first iteration; default: the machine's
  double launch_us = 0;
  double issue_us = 0;
  double host_us = 0;            // of a rank's host between two actions, which it runs itself
  double compute_slowdown = 1;   // of an action while a transfer of its rank is in flight
  double transfer_slowdown = 1;  // of a transfer while one of its ranks runs an action
};

/// Reads the section, after the schema check.
OverheadsSection read_overheads(const nlohmann::json& section);

}  // namespace penstock
