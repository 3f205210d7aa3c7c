#include "experiments/measure/measured_runs/order_names.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "schedules/registry.hpp"

namespace penstock {
namespace {

/// Whether a schedule rule produces this order at these sizes.
bool makes(const ScheduleEntry& entry, const SeenOrder& order) {
  ScheduleOptions options;
  options.microbatch_count = microbatches_of(order.schedule);
  const std::uint32_t ranks = order.schedule.ranks();
  try {
    const Placement placement = entry.place(ranks, order.placement.stage_count() / ranks);
    return placement == order.placement &&
           make_schedule(entry, placement, options) == order.schedule;
  } catch (const RuleError&) {
    return false;  // the rule does not support these sizes
  }
}

}  // namespace

std::uint32_t microbatches_of(const Schedule& schedule) {
  std::uint32_t count = 0;
  for (Rank rank : Numbers<Rank>(schedule.ranks())) {
    for (const Action& action : schedule.on(rank)) {
      count = std::max(count, index(action.microbatch) + 1);
    }
  }
  return count;
}

std::optional<std::string> known_order(const SeenOrder& order) {
  const std::uint32_t ranks = order.schedule.ranks();
  const std::uint32_t stages = order.placement.stage_count();
  if (stages % ranks != 0) return std::nullopt;
  std::optional<std::string> found;
  for (const ScheduleEntry* entry : schedule_entries()) {
    const bool usual = entry->default_chunks * ranks == stages;
    if ((found && !usual) || !makes(*entry, order)) continue;
    found = entry->name;
    if (usual) break;
  }
  return found;
}

std::string order_difference(const Schedule& seen, const NamedOrder& named) {
  if (seen.ranks() != named.schedule.ranks()) return "it has other ranks";
  for (Rank rank : Numbers<Rank>(seen.ranks())) {
    const auto& ran = seen.on(rank);
    const auto& asked = named.schedule.on(rank);
    const std::size_t size = std::max(ran.size(), asked.size());
    for (std::size_t i = 0; i < size; ++i) {
      const std::string a = i < ran.size() ? text(ran[i]) : "nothing";
      const std::string b = i < asked.size() ? text(asked[i]) : "nothing";
      if (a != b) {
        return fmt::format("rank {} ran {} as action {}, where it has {}", index(rank), a, i, b);
      }
    }
  }
  return "";
}

}  // namespace penstock
