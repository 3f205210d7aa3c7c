#include "experiments/measure/calibration/calibration_cases.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "validate/statistics/bootstrap.hpp"

namespace penstock {
namespace {

constexpr std::array<std::string_view, 3> busy_families{"even", "uneven", "linked"};
constexpr std::array<double, 3> busy_us{15, 30, 60};
constexpr std::array<double, 3> hidden_numbers{32, 48, 64};
constexpr std::array<std::string_view, 3> transferred_families{"even", "layers", "linked"};
constexpr std::array<std::string_view, 7> other_schedules{
    "gpipe", "eager-1f1b", "interleaved-1f1b", "looped-bfs", "zb-h1", "zb-h2", "zb-v"};
// Of each fit, trained and interpolated together.
constexpr std::size_t busy_inside = 18;
constexpr std::size_t layers_inside = 12;

/// All combinations of a grid. Busy families alternate, so that each occurs with all sizes.
std::vector<PipelineSetting> grid(std::uint32_t most_ranks, bool of_layers) {
  std::vector<PipelineSetting> all;
  for (const std::uint32_t ranks : {2U, 3U, 4U}) {
    for (const std::uint32_t microbatches : {4U, 8U, 12U}) {
      for (std::size_t size = 0; size < busy_us.size() && ranks <= most_ranks; ++size) {
        const std::string_view busy = busy_families[(all.size() / 3 + size) % 3];
        all.push_back({std::string(of_layers ? "layers" : busy), ranks, microbatches,
                       of_layers ? hidden_numbers[size] : busy_us[size]});
      }
    }
  }
  return all;
}

/// Each exceeds the grid in one size.
std::vector<PipelineSetting> beyond(std::uint32_t most_ranks, bool runs_layers) {
  std::vector<PipelineSetting> all{
      {"even", 6, 12, 30},   {"uneven", 8, 8, 30},  {"linked", 2, 32, 30},
      {"even", 4, 24, 30},   {"uneven", 2, 8, 150}, {"linked", 4, 8, 150},
      {"layers", 6, 12, 48}, {"layers", 2, 24, 48}, {"layers", 4, 8, 96}};
  std::erase_if(all, [&](const PipelineSetting& one) {
    return one.ranks > most_ranks || (has_layers(one) && !runs_layers);
  });
  return all;
}

/// Two of three are for training.
void add_inside(const std::vector<PipelineSetting>& settings, std::uint64_t seed, std::size_t most,
                std::vector<PipelineCase>& cases) {
  const std::vector<std::uint32_t> order =
      shuffled(seed, has_layers(settings.front()) ? "layers" : "pipelines", 0,
               static_cast<std::uint32_t>(settings.size()));
  for (std::size_t i = 0; i < order.size() && i < most; ++i) {
    cases.push_back({settings[order[i]], "1f1b",
                     i % 3 != 2 ? PipelinePart::training : PipelinePart::interpolation});
  }
}

}  // namespace

bool has_layers(const PipelineSetting& setting) { return setting.family == "layers"; }

std::string text(const PipelineSetting& setting) {
  const std::string size =
      fmt::format(fmt::runtime(has_layers(setting) ? "h{}" : "{}us"), setting.size);
  return fmt::format("p{} m{} {} {}", setting.ranks, setting.microbatches, size, setting.family);
}

std::vector<PipelineCase> pipeline_cases(std::uint64_t seed, std::uint32_t most_ranks,
                                         bool runs_layers) {
  std::vector<PipelineCase> cases;
  add_inside(grid(most_ranks, false), seed, busy_inside, cases);
  if (runs_layers) add_inside(grid(most_ranks, true), seed, layers_inside, cases);
  const std::vector<PipelineCase> inside = cases;
  for (const PipelineSetting& setting : beyond(most_ranks, runs_layers)) {
    cases.push_back({setting, "1f1b", PipelinePart::extrapolation});
  }
  for (const std::string_view family : transferred_families) {
    // The first in a shuffled order.
    const auto one = std::find_if(inside.begin(), inside.end(), [&](const PipelineCase& each) {
      return each.setting.family == family && each.part == PipelinePart::training;
    });
    if (one == inside.end()) continue;
    for (const std::string_view schedule : other_schedules) {
      cases.push_back({one->setting, std::string(schedule), PipelinePart::transfer});
    }
  }
  return cases;
}

std::uint64_t split_hash(const std::vector<PipelineCase>& cases) {
  std::string all;
  for (const PipelineCase& one : cases) {
    all += fmt::format("{} {}: {}\n", one.schedule, text(one.setting), name(one.part));
  }
  return text_hash(all);
}

}  // namespace penstock
