#pragma once

#include <cstddef>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "experiments/input/fields/fields.hpp"
#include "experiments/run/layout/layout.hpp"

namespace penstock {

/// A pointer into a scenario that changes costs of stages given by their times, or of ideal links,
/// and nothing else of a layout: a field whose table says so.
class CostKnob {
 public:
  static constexpr std::size_t no_stage = SIZE_MAX;
  static constexpr std::size_t every_stage = SIZE_MAX - 1;

  /// The knob of a pointer, whose step `*` is every item of a list; nothing for any other pointer.
  static std::optional<CostKnob> at(std::string_view pointer);

  std::string_view key() const { return field_->key; }  // "forward_us"
  bool of_link() const { return stage_ == no_stage; }
  /// Whether it may change what stages hold and send, not only their times.
  bool changes_bytes() const { return changes_bytes_; }
  /// Whether the schema takes this value.
  bool takes(double value) const { return value >= bounds_.first && value <= bounds_.second; }
  /// Whether a document states a number for it, everywhere.
  bool is_stated(const nlohmann::json& document) const;
  /// Changes a layout as reading a scenario with this value would.
  void set(Layout& layout, double value) const;

 private:
  CostKnob(const Field& field, std::size_t stage);

  const Field* field_;
  std::size_t stage_;
  std::pair<double, double> bounds_;
  bool changes_bytes_;
};

/// Whether knobs are all that decides the costs of a layout: the document of its scenario states
/// each of them, and has no section that derives anything from costs.
bool knobs_decide(const nlohmann::json& document, const Layout& layout,
                  const std::vector<CostKnob>& knobs);

}  // namespace penstock
