#pragma once

#include <cstdint>
#include <string_view>

#include "schedules/patterns/options.hpp"
#include "sim/order/placement.hpp"
#include "sim/order/schedule.hpp"

namespace penstock {

/// The handcrafted zero-bubble orders: 1f1b with the backward split, `reach` times its warm-up of
/// p-1-r forwards, and each W `reach` times r I behind its own I.
Schedule zero_bubble_order(std::string_view rule, std::uint32_t reach, const Placement& placement,
                           const ScheduleOptions& options);

}  // namespace penstock
