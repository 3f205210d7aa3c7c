#include "schedules/registry.hpp"

#include <fmt/format.h>

#include "sim/base/error.hpp"
#include "sim/base/limits.hpp"

namespace penstock {

std::uint32_t usual_chunks(const ScheduleEntry& entry, const ScheduleOptions& options) {
  return entry.chunks_for == nullptr ? entry.default_chunks : entry.chunks_for(options);
}

void check_size(const Placement& placement, const ScheduleOptions& options) {
  const std::uint64_t actions =
      std::uint64_t{placement.stage_count()} * options.microbatch_count * 3;
  if (actions > Limits::actions) {
    throw RuleError(fmt::format("{} stages times {} microbatches are too many: at most {} actions",
                                placement.stage_count(), options.microbatch_count,
                                Limits::actions));
  }
}

Schedule make_schedule(const ScheduleEntry& entry, const Placement& placement,
                       const ScheduleOptions& options) {
  check_options(entry.name, entry.options, options);
  check_size(placement, options);
  return entry.make(placement, options);
}

}  // namespace penstock
