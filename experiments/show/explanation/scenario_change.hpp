#pragma once

#include <string>
#include <vector>

namespace penstock {

/// A change of a scenario that a user can make.
struct ScenarioChange {
  std::vector<std::string> settings;  // as for --set
  std::vector<std::string> left_out;  // sections
  bool keeps_pipeline = false;        // offered only if ranks and microbatches stay the same

  /// "/memory/zero=2", "without /offload".
  std::string text() const;
};

}  // namespace penstock
