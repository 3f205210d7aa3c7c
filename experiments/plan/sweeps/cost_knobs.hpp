#pragma once

#include <cstddef>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "experiments/run/layout/layout.hpp"

namespace penstock {

/// A pointer into a scenario that changes costs of stages given by their times, or of ideal links,
/// and nothing else of a layout.
struct CostKnob {
  static constexpr std::size_t every_stage = SIZE_MAX;

  std::string key;  // "forward_us"
  bool of_link = false;
  std::size_t stage = every_stage;

  /// Whether it may change what stages hold and send, not only their times.
  bool changes_bytes() const;
  /// Whether the scenario's schema and its sections take this value as they take any other of the
  /// knob; inside of what they allow.
  bool takes(double value) const;
  /// Changes a layout as reading a scenario with this value would.
  void set(Layout& layout, double value) const;
};

/// The knob of a pointer, whose step `*` is every item of a list; nothing for any other pointer.
std::optional<CostKnob> cost_knob(const std::string& pointer);

/// Whether knobs are all that decides the costs of a layout: the document of its scenario states
/// each of them, and has no section that derives anything from costs.
bool knobs_decide(const nlohmann::json& document, const Layout& layout,
                  const std::vector<CostKnob>& knobs);

}  // namespace penstock
