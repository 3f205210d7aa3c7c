#include "experiments/input/orders/memory_need.hpp"

#include <fmt/format.h>

#include "experiments/input/files/table.hpp"
#include "experiments/input/long_work/budget.hpp"

namespace penstock {

double cells_of(const Placement& placement, const ScheduleOptions& options, std::uint32_t slices) {
  // Of several chains, each has a part of the microbatches.
  const double stages = static_cast<double>(placement.chains().front().size());
  return stages * options.microbatch_count * slices;
}

void need_memory_for(const std::string& what, const Placement& placement,
                     const ScheduleOptions& options, std::uint32_t slices, double bytes_per_cell) {
  const std::string sizes = fmt::format(
      "{} of {} and {}", what, counted(placement.chains().front().size(), "stage", "stages"),
      counted(options.microbatch_count, "microbatch", "microbatches"));
  need_memory(bytes_per_cell * cells_of(placement, options, slices), sizes,
              "use fewer microbatches, or give more --max-memory");
}

}  // namespace penstock
