#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "experiments/input/catalogue/catalogue.hpp"

namespace penstock {

/// Where the constants of some item come from, by name.
struct Provenance {
  std::vector<std::string> measured;  // or stated by a data sheet
  std::vector<std::string> fitted;    // to published runs
  std::vector<std::string> assumed;
};

/// What a framework makes of one device.
struct Stack {
  StackConstants constants;
  std::optional<double> kernel_issue_us;
  double spread = 0;      // relative standard deviation of published step times around predicted
  std::string spread_of;  // the rows behind it, or why it is assumed
  bool known_device = false;  // the stack lists the device; otherwise its constants are general
  Provenance provenance;
};

/// The constants of a stack on a device.
Stack stack_of(const CatalogueItem& item, std::string_view device);

/// Where the facts of a device come from that price kernels, `attention` among its attention
/// kernels.
Provenance provenance_of(const CatalogueItem& device, const std::string& attention);

}  // namespace penstock
