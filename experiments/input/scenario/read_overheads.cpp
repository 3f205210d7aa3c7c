#include <nlohmann/json.hpp>

#include "experiments/input/files/json_input.hpp"
#include "experiments/input/scenario/overheads_section.hpp"

namespace penstock {

OverheadsSection read_overheads(const nlohmann::json& section) {
  OverheadsSection overheads;
  take(section, "optimizer_us", overheads.optimizer_us);
  take(section, "warm_up_us", overheads.warm_up_us);
  take(section, "launch_us", overheads.launch_us);
  take(section, "issue_us", overheads.issue_us);
  take(section, "host_us", overheads.host_us);
  take(section, "compute_slowdown_by_transfer", overheads.compute_slowdown);
  take(section, "transfer_slowdown_by_compute", overheads.transfer_slowdown);
  return overheads;
}

}  // namespace penstock
