#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "schedules/partitioners/chain/bottleneck.hpp"

namespace penstock {

/// A cost of the layers [begin, end) as stage `stage` on a device of class `kind`.
using DeviceCost = std::function<double(std::uint32_t begin, std::uint32_t end, std::uint32_t stage,
                                        std::uint32_t kind)>;

/// Devices by class: equal ones are one class.
struct DeviceClasses {
  std::vector<std::uint32_t> counts;  // devices of each class

  std::uint32_t devices() const;
  /// Ways to use some of them: the product of the counts, each plus one. At most UINT64_MAX.
  std::uint64_t states() const;
};

/// Cuts over all devices, with the class of each stage.
struct DeviceCut {
  Bottleneck best;
  std::vector<std::uint32_t> kinds;
};

/// The least bottleneck over all orders of the devices, one stage on each; a stage that does not
/// fit costs infinity. The state is how many devices of each class are used, so equal devices are
/// not told apart. Takes O(states x classes x size^2) time. Nothing when no cut fits.
std::optional<DeviceCut> least_over_orders(std::uint32_t size, const DeviceClasses& classes,
                                           const DeviceCost& cost);

/// The same for costs that do not fall when a stage grows, in time O(probes x states x classes x
/// size): with the same devices used, a stage that ends further is never worse.
std::optional<DeviceCut> least_over_orders_by_reach(std::uint32_t size,
                                                    const DeviceClasses& classes,
                                                    const DeviceCost& cost);

}  // namespace penstock
