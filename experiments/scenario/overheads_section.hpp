#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>

namespace penstock {

/// "overheads": what takes time beside the passes.
struct OverheadsSection {
  std::optional<double> optimizer_us;  // where not stated, what the memory of a machine takes
  std::optional<double> warm_up_us;    // what the first iteration takes longer; the same
  double launch_us = 0;
  double issue_us = 0;
  double compute_slowdown = 1;   // of an action while a transfer of its rank is in flight
  double transfer_slowdown = 1;  // of a transfer while one of its ranks runs an action
};

/// Reads the section, which the schema has checked.
OverheadsSection read_overheads(const nlohmann::json& section);

}  // namespace penstock
