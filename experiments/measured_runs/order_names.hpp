#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "experiments/measured_runs/iterations.hpp"
#include "experiments/measured_runs/rank_traces.hpp"
#include "sim/order/schedule.hpp"

namespace penstock {

/// One more than the largest number of a microbatch.
std::uint32_t microbatches_of(const Schedule& schedule);

/// The schedule whose order this is with its usual options; of several, one that usually has so
/// many stages a rank.
std::optional<std::string> known_order(const SeenOrder& order);

/// The first place where an order is not the one that was named; "" when it is that one.
std::string order_difference(const Schedule& seen, const NamedOrder& named);

}  // namespace penstock
