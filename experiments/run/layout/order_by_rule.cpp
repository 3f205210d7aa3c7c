#include <fmt/format.h>

#include "experiments/input/files/files.hpp"
#include "experiments/input/files/nearest.hpp"
#include "experiments/run/layout/order.hpp"
#include "experiments/run/layout/pipeline_ranks.hpp"
#include "sim/base/error.hpp"
#include "sim/base/named.hpp"

namespace penstock {
namespace {

Placement placement_for_rule(const Scenario& scenario, const ScheduleEntry& entry,
                             const ScheduleOptions& options, std::uint32_t ranks,
                             std::uint32_t chunks) {
  check_sizes(ranks, chunks);
  if (!scenario.partition.ranks.empty()) return given_placement(scenario, ranks);
  const auto stages = stages_given(scenario);
  Placement placement = place_stages(entry, ranks, chunks, options, ": set /parallel/chunks=");
  const bool fits = !stages || placement.chains().front().size() == *stages;
  if (fits || scenario.parallel.chunks || entry.copies > 1 || *stages % ranks != 0)
    return placement;
  // Otherwise the number of stages in the model determines the chunks.
  return place_stages(entry, ranks, *stages / ranks, options, ": set /parallel/chunks=");
}

const ScheduleEntry& rule_of(const Scenario& scenario) {
  const std::string& name = scenario.schedule.name;
  const ScheduleEntry* entry = find_named(schedule_entries(), name);
  if (entry != nullptr) return *entry;
  throw InputError("/schedule/name",
                   unknown_text(fmt::format("name \"{}\"", name), meant_schedule(name),
                                names_of(schedule_entries())));
}

}  // namespace

std::string option_pointer(const std::string& name) { return "/schedule" + pointer_step(name); }

Order order_by_rule(const Scenario& scenario, const Degrees& degrees, std::uint32_t microbatches) {
  const ScheduleEntry& entry = rule_of(scenario);
  Order order{.name = scenario.schedule.name,
              .microbatches = microbatches,
              .rule = &entry,
              .options = {microbatches, scenario.schedule.settings}};
  try {
    const auto& stated = scenario.parallel.chunks;
    const std::uint32_t chunks = stated ? *stated : usual_chunks(entry, order.options);
    const std::uint32_t ranks = ranks_for(scenario, degrees, chunks, entry.copies);
    check_devices(scenario, degrees, ranks);
    order.placement = placement_for_rule(scenario, entry, order.options, ranks, chunks);
    order.schedule = make_schedule(entry, order.placement, order.options);
    if (entry.slices_for != nullptr) order.slices = entry.slices_for(order.options);
  } catch (const UnknownOption& error) {
    throw InputError(option_pointer(error.name()), error.what());
  } catch (const RuleError& error) {
    throw InputError("/schedule", fmt::format("{}: {}", entry.name, error.what()));
  }
  return order;
}

}  // namespace penstock
