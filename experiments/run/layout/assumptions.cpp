#include "experiments/run/layout/assumptions.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "experiments/input/files/table.hpp"
#include "experiments/run/layout/degrees.hpp"
#include "experiments/run/layout/training.hpp"

namespace penstock {
namespace {

/// A training command leaves the number of data replicas to the number of devices.
std::string data_note(const Scenario& scenario, const Layout& layout) {
  const ParallelSection& parallel = scenario.parallel;
  const std::uint32_t data = layout.degrees.data;
  if (scenario.hardware.devices && parallel.pipeline) {
    return fmt::format("data = {}: {} over {} per copy of the pipeline", data,
                       counted(*scenario.hardware.devices, "device"), devices_of(layout) / data);
  }
  return "data = 1 is assumed, since the command states no number of devices; set "
         "/hardware/devices or /parallel/data";
}

std::string overlap_note(const Layout& layout) {
  return layout.memory.zero < 2
             ? "gradient reduction overlaps with compute; /parallel/overlap_sums=false starts it "
               "after a rank's last backward"
             : "ZeRO collectives overlap with compute; with /parallel/overlap_sums=false each "
               "pass waits for its own";
}

/// Whether replicas update shares of their weights and gather the others'.
bool gathers_new_weights(const Layout& layout) {
  const bool update = layout.memory.zero == 1 || layout.memory.zero == 2;
  return update && !layout.schedule.has(Pass::update);
}

/// Whether two parts of a cell overlap whose layers state their times.
bool fuses_stated_times(const Layout& layout) {
  const bool cells = layout.overlap == Overlap::fused && layout.spec.blocks.empty();
  if (!cells) return false;
  for (const Rank rank : Numbers<Rank>(layout.schedule.ranks())) {
    const auto& order = layout.schedule.on(rank);
    const auto joined = [](const Action& action) { return action.with_next; };
    if (std::any_of(order.begin(), order.end(), joined)) return true;
  }
  return false;
}

std::string expert_note(std::uint32_t expert) {
  return fmt::format(
      "expert = {}: layers that state their costs have no experts, so the devices of an expert "
      "group act as data replicas; /parallel/data says so",
      expert);
}

}  // namespace

std::vector<std::string> assumptions_of(const Scenario& scenario, const Layout& layout) {
  std::vector<std::string> notes;
  if (!scenario.parallel.data) notes.push_back(data_note(scenario, layout));
  if (layout.degrees.expert > 1 && !scenario.model.by_kind()) {
    notes.push_back(expert_note(layout.degrees.expert));
  }
  const bool reduces =
      shares_weights(layout) && layout.schedule.has_backward() && has_weights(layout.model);
  if (reduces && !scenario.parallel.overlap_sums) notes.push_back(overlap_note(layout));
  if (scenario.overheads.warm_up_us.value_or(0) > 0) {
    notes.push_back(fmt::format("the first step takes {} ms longer (/overheads/warm_up_us)",
                                number_text(*scenario.overheads.warm_up_us / 1e3)));
  }
  if (reduces && gathers_new_weights(layout) && overlaps_gathers(layout) &&
      !scenario.parallel.overlap_gathers) {
    notes.emplace_back(
        "new weights are gathered behind the first forwards of the next step, as the stack does; "
        "/parallel/overlap_gathers=false waits for them");
  }
  if (fuses_stated_times(layout)) {
    notes.emplace_back(
        "a fused overlap cell takes as long as its longer part, since layers state their times; "
        "two compute kernels on one device would share it");
  }
  return notes;
}

std::uint64_t devices_of(const Layout& layout) {
  return layout.placement.ranks() * devices_per_rank(layout.degrees);
}

std::uint32_t chunks_of(const Layout& layout) {
  const auto stages = static_cast<std::uint32_t>(layout.placement.chains().front().size());
  const std::uint32_t ranks = layout.placement.ranks();
  return std::max(1u, (stages + ranks - 1) / ranks);
}

double global_batch_of(const Layout& layout) {
  return static_cast<double>(layout.microbatches) * layout.batch.samples_per_microbatch *
         layout.degrees.data;
}

}  // namespace penstock
