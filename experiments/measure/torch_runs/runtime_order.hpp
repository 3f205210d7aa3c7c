#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "experiments/run/layout/layout.hpp"
#include "sim/order/placement.hpp"
#include "sim/order/schedule.hpp"

namespace penstock {

/// An order for PyTorch's runtime, compute-only.
struct RuntimeOrder {
  std::string name;  // of the schedule; names files, too
  Placement placement;
  Schedule schedule;
  std::string csv;
  std::vector<std::vector<std::uint32_t>> stages;  // the layers of each, ascending
  std::uint32_t quiet_traced = 2;                  // quiet steps to trace
};

/// Why PyTorch's runtime does not run a layout, or would run it otherwise; "" if it does.
std::string why_not_in_torch(const Layout& layout, const Schedule& order);

/// The order of a layout that PyTorch's runtime runs.
RuntimeOrder runtime_order(const std::string& name, const Layout& layout, const Schedule& order);

}  // namespace penstock
