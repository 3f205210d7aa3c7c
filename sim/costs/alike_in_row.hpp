#pragma once

#include "sim/costs/hardware_model.hpp"
#include "sim/model/model_graph.hpp"

namespace penstock {

/// Times of layers that are asked for one after the other: of some in a row that cost alike, as
/// most layers of a transformer do, the first is priced. A layer must outlive the next call.
class AlikeInRow {
 public:
  explicit AlikeInRow(const HardwareModel& hardware) : by_name_(hardware.looks_at_names()) {}

  /// `price(layer)`, or what that was for the layer before.
  template <class Price>
  double us(const Layer& layer, Price price) {
    const bool known = before_ != nullptr && !by_name_ && cost_alike(*before_, layer);
    if (!known) us_ = price(layer);
    before_ = &layer;
    return us_;
  }

 private:
  bool by_name_;
  const Layer* before_ = nullptr;
  double us_ = 0;
};

}  // namespace penstock
