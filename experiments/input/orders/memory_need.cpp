#include "experiments/input/orders/memory_need.hpp"

#include <fmt/format.h>

#include "experiments/input/files/table.hpp"
#include "experiments/input/long_work/budget.hpp"

namespace penstock {

void need_memory_for(const std::string& what, const Placement& placement,
                     const ScheduleOptions& options, std::uint32_t slices, double bytes_per_cell) {
  // Of several chains, each has a part of the microbatches.
  const std::size_t stages = placement.chains().front().size();
  const double cells = static_cast<double>(stages) * options.microbatch_count * slices;
  const std::string sizes =
      fmt::format("{} of {} and {}", what, counted(stages, "stage", "stages"),
                  counted(options.microbatch_count, "microbatch", "microbatches"));
  need_memory(bytes_per_cell * cells, sizes, "use fewer microbatches");
}

}  // namespace penstock
