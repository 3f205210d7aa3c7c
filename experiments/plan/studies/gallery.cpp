#include "experiments/plan/studies/gallery.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "experiments/input/files/table.hpp"
#include "schedules/registry.hpp"
#include "sim/base/error.hpp"

namespace penstock {
namespace {

constexpr double share_us = 4000;  // of F, of I and of W

/// The time of F, I and W of a cell under a schedule. The share of a rank is divided into chunks,
/// or exists once for each copy of the model; slices divide it further.
struct Cells {
  std::uint32_t stages;
  double us;
};

Cells cells_of(const ScheduleEntry& entry, std::uint32_t ranks, std::uint32_t microbatches) {
  const ScheduleOptions options{microbatches, {}};
  const std::uint32_t stages = ranks * usual_chunks(entry, options) / entry.copies;
  const std::uint32_t slices = entry.slices_for == nullptr ? 1 : entry.slices_for(options);
  return {stages, share_us * ranks / stages / slices};
}

Scenario scenario_of(const ScheduleEntry& entry, const Cells& cells, std::uint32_t ranks,
                     std::uint32_t microbatches) {
  const nlohmann::json stage{
      {"forward_us", cells.us}, {"backward_input_us", cells.us}, {"backward_weight_us", cells.us}};
  return scenario_from({{"model", {{"stages", std::vector(cells.stages, stage)}}},
                        {"parallel", {{"pipeline", ranks}}},
                        {"schedule", {{"name", entry.name}, {"microbatches", microbatches}}}},
                       "gallery");
}

/// The peak memory of a rank, if one cell of a stage is `cells` of the rank's share.
double peak_share(const Report& report, double cells) {
  std::uint32_t peak = 0;
  for (const RankReport& rank : report.ranks) peak = std::max(peak, rank.peak_activations);
  return peak / cells;
}

}  // namespace

Gallery gallery(std::uint32_t ranks, std::uint32_t microbatches) {
  Gallery all;
  for (const ScheduleEntry* entry : schedule_entries()) {
    try {
      const Cells cells = cells_of(*entry, ranks, microbatches);
      Exhibit exhibit{std::string(entry->name),
                      run(scenario_of(*entry, cells, ranks, microbatches))};
      exhibit.peak_share = peak_share(*exhibit.result.report, share_us / cells.us);
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
