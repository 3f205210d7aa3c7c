#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "experiments/measure/measured_runs/iterations.hpp"
#include "experiments/measure/measured_runs/rank_traces.hpp"
#include "sim/order/schedule.hpp"

namespace penstock {

/// The largest microbatch number plus one.
std::uint32_t microbatches_of(const Schedule& schedule);

/// The schedule that produces this order with default options. If several do, one whose default has
/// the same number of stages per rank.
std::optional<std::string> known_order(const SeenOrder& order);

/// The first difference from the named order; "" if there is none.
std::string order_difference(const Schedule& seen, const NamedOrder& named);

}  // namespace penstock
