#include "experiments/studies/gallery.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "experiments/files/table.hpp"
#include "schedules/registry.hpp"
#include "sim/base/error.hpp"

namespace penstock {
namespace {

constexpr double share_us = 4000;  // of F, of I and of W

/// The scenario of one schedule. A rank's share of the model is cut into chunks, or is there once
/// for each copy of the model; slices cut it further.
Scenario scenario_of(const ScheduleEntry& entry, std::uint32_t ranks, std::uint32_t microbatches) {
  const ScheduleOptions options{microbatches, {}};
  const std::uint32_t chunks = usual_chunks(entry, options);
  const std::uint32_t stages = ranks * chunks / entry.copies;
  const std::uint32_t slices = entry.slices_for == nullptr ? 1 : entry.slices_for(options);
  const double cell_us = share_us * ranks / stages / slices;
  Scenario scenario;
  scenario.source = "gallery";
  scenario.stages_given = true;
  for (std::uint32_t stage = 0; stage < stages; ++stage) {
    scenario.model.layers.push_back({.source = fmt::format("/model/stages/{}", stage),
                                     .forward_us = cell_us,
                                     .backward_input_us = cell_us,
                                     .backward_weight_us = cell_us});
  }
  scenario.model.connect_as_chain();
  scenario.pipeline = ranks;
  scenario.schedule = entry.name;
  scenario.microbatches = microbatches;
  return scenario;
}

/// The most that a rank holds, where one cell of a stage is `cells` of the rank's share.
double peak_share(const Report& report, double cells) {
  std::uint32_t peak = 0;
  for (const RankReport& rank : report.ranks) peak = std::max(peak, rank.peak_activations);
  return peak / cells;
}

}  // namespace

Gallery gallery(std::uint32_t ranks, std::uint32_t microbatches) {
  Gallery all;
  for (const ScheduleEntry* entry : schedule_entries()) {
    const Scenario scenario = scenario_of(*entry, ranks, microbatches);
    try {
      Exhibit exhibit{std::string(entry->name), run(scenario)};
      exhibit.peak_share =
          peak_share(*exhibit.result.report, share_us / *scenario.model.layers.front().forward_us);
      all.exhibits.push_back(std::move(exhibit));
    } catch (const InputError& error) {
      all.left_out.emplace_back(error.what());
    }
  }
  return all;
}

std::string gallery_table(const std::vector<Exhibit>& exhibits) {
  std::vector<std::vector<std::string>> rows{
      {"schedule", "makespan ms", "of makespan", "over ideal", "of longest span", "peak"}};
  for (const Exhibit& exhibit : exhibits) {
    const Report& report = *exhibit.result.report;
    rows.push_back({exhibit.name, number_text(to_us(report.makespan) / 1000),
                    percent_text(report.bubble.of_makespan), percent_text(report.bubble.over_ideal),
                    percent_text(report.bubble.of_longest_span), number_text(exhibit.peak_share)});
  }
  return aligned(rows, {0});
}

}  // namespace penstock
