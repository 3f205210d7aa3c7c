#include <fmt/format.h>

#include <cstddef>
#include <cstdint>

#include "experiments/input/files/files.hpp"
#include "experiments/run/layout/layout.hpp"
#include "sim/base/error.hpp"
#include "sim/base/numbers.hpp"
#include "sim/model/model_graph.hpp"
#include "sim/model/partition.hpp"
#include "sim/order/order_fault.hpp"
#include "sim/order/schedule.hpp"

namespace penstock {
namespace {

void check_model(const Layout& layout) {
  topological_order(layout.model);
  check_partition(layout.model, layout.partition);
  const std::size_t stages = layout.partition.stages.size();
  for (const auto& chain : layout.placement.chains()) {
    if (chain.size() == stages) continue;
    throw InputError("/partition/stages", fmt::format("the model is cut into {} stages, and the "
                                                      "order runs {}",
                                                      stages, chain.size()));
  }
}

void check_order(const Layout& layout) {
  const bool frozen = layout.module && layout.module->frozen;
  const auto fault =
      find_order_fault(layout.schedule, layout.placement, frozen ? layout.module->stages : 0);
  if (fault) {
    throw InputError("/schedule", fmt::format("rank {}, action {}: {}", index(fault->rank),
                                              fault->action, fault->text));
  }
  const std::uint32_t cells = MicrobatchColumns(layout.schedule).count();
  if (cells == std::uint64_t{layout.microbatches} * layout.slices) return;
  throw InputError("/schedule/microbatches",
                   fmt::format("{} microbatches are stated, and the order has {}",
                               layout.microbatches, cells / layout.slices));
}

}  // namespace

void check_layout(const Layout& layout) {
  about_file(layout.source, [&] {
    check_model(layout);
    check_order(layout);
  });
}

}  // namespace penstock
