#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "schedules/registry.hpp"
#include "sim/base/named.hpp"
#include "tests/support/system.hpp"

namespace penstock::testing {

/// Options of a rule, by name.
using CatalogueSettings = std::map<std::string, std::string, std::less<>>;

/// Sizes of an order.
struct Sizes {
  std::uint32_t ranks;
  std::uint32_t chunks;
  std::uint32_t microbatches;
};

/// A rule by its name.
inline const ScheduleEntry& rule(std::string_view name) {
  return *find_named(schedule_entries(), name);
}

/// Equal stages in the order of a rule.
inline System system_of(std::string_view name, Sizes sizes, const Layer& stage,
                        const CatalogueSettings& settings = {}) {
  System system;
  system.placement = rule(name).place(sizes.ranks, sizes.chunks);
  system.schedule = make_schedule(rule(name), system.placement, {sizes.microbatches, settings});
  system.stages.assign(system.placement.chains().front().size(), stage);
  return system;
}

}  // namespace penstock::testing
