#include "schedules/registry.hpp"

#include <fmt/format.h>

#include "sim/base/error.hpp"
#include "sim/base/limits.hpp"

namespace penstock {

std::uint32_t usual_chunks(const ScheduleEntry& entry, const ScheduleOptions& options) {
  return entry.chunks_for == nullptr ? entry.default_chunks : entry.chunks_for(options);
}

Placement place_stages(const ScheduleEntry& entry, std::uint32_t ranks, std::uint32_t chunks,
                       const ScheduleOptions& options, std::string_view remedy) {
  try {
    return entry.place(ranks, chunks);
  } catch (const RuleError& error) {
    const std::uint32_t usual = usual_chunks(entry, options);
    if (usual == chunks) throw;
    throw RuleError(fmt::format("{}{}{}", error.what(), remedy, usual));
  }
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
