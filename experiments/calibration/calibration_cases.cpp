#include "experiments/calibration/calibration_cases.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "validate/statistics/bootstrap.hpp"

namespace penstock {
namespace {

constexpr std::array<std::string_view, 4> families{"even", "uneven", "linked", "layers"};
constexpr std::array<double, 3> busy_us{15, 30, 60};
constexpr std::array<double, 3> hidden_numbers{32, 48, 64};
constexpr std::array<std::string_view, 3> transferred_families{"even", "layers", "linked"};
constexpr std::array<std::string_view, 7> other_schedules{
    "gpipe", "eager-1f1b", "interleaved-1f1b", "looped-bfs", "zb-h1", "zb-h2", "zb-v"};
constexpr std::size_t trained_and_interpolated = 18;

/// All combinations of a grid. Families alternate, so that each occurs with all sizes.
std::vector<PipelineSetting> grid(std::uint32_t most_ranks, bool runs_layers) {
  std::vector<PipelineSetting> all;
  for (const std::uint32_t ranks : {2U, 3U, 4U}) {
    for (const std::uint32_t microbatches : {4U, 8U, 12U}) {
      for (std::size_t size = 0; size < busy_us.size() && ranks <= most_ranks; ++size) {
        const std::size_t count = families.size() - (runs_layers ? 0 : 1);
        const std::string family(families[all.size() % count]);
        const double value = family == "layers" ? hidden_numbers[size] : busy_us[size];
        all.push_back({family, ranks, microbatches, value});
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

}  // namespace

bool has_layers(const PipelineSetting& setting) { return setting.family == "layers"; }

std::string text(const PipelineSetting& setting) {
  const std::string size =
      fmt::format(fmt::runtime(has_layers(setting) ? "h{}" : "{}us"), setting.size);
  return fmt::format("p{} m{} {} {}", setting.ranks, setting.microbatches, size, setting.family);
}

std::vector<PipelineCase> pipeline_cases(std::uint64_t seed, std::uint32_t most_ranks,
                                         bool runs_layers) {
  const std::vector<PipelineSetting> inside = grid(most_ranks, runs_layers);
  const std::vector<std::uint32_t> order =
      shuffled(seed, "pipelines", 0, static_cast<std::uint32_t>(inside.size()));
  std::vector<PipelineCase> training, cases;
  for (std::size_t i = 0; i < order.size() && i < trained_and_interpolated; ++i) {
    const bool trains = i % 3 != 2;
    cases.push_back(
        {inside[order[i]], "1f1b", trains ? PipelinePart::training : PipelinePart::interpolation});
    if (trains) training.push_back(cases.back());
  }
  for (const PipelineSetting& setting : beyond(most_ranks, runs_layers)) {
    cases.push_back({setting, "1f1b", PipelinePart::extrapolation});
  }
  for (const std::string_view family : transferred_families) {
    // The first in a shuffled order.
    const auto one = std::find_if(training.begin(), training.end(), [&](const PipelineCase& each) {
      return each.setting.family == family;
    });
    if (one == training.end()) continue;
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
