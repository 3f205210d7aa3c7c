#include <fmt/format.h>

#include <algorithm>

#include "experiments/files/table.hpp"
#include "experiments/starter/starter.hpp"

namespace penstock {
namespace {

std::string speed_text(const TriedLayout& tried) {
  const bool tokens = tried.tokens_per_s.has_value();
  const double speed = tokens ? *tried.tokens_per_s : tried.samples_per_s;
  const char* unit = tokens ? "tokens" : "samples";
  return speed < 1000 ? fmt::format("{:.4g} {}/s", speed, unit)
                      : fmt::format("{:.0f} {}/s", speed, unit);
}

std::string fastest_text(const TriedLayout& fastest) {
  return fmt::format("fastest: {}: {}; worst rank {} of {}", speed_text(fastest),
                     text_of(fastest.layout), bytes_text(fastest.peak_bytes),
                     bytes_text(fastest.capacity_bytes));
}

std::string runner_up_text(const TriedLayout& fastest, const TriedLayout& second) {
  const double slower = 1 - second.samples_per_s / fastest.samples_per_s;
  constexpr double least_shown = 0.0005;
  const std::string distance =
      slower < least_shown ? "as fast" : fmt::format("{} slower", percent_text(slower));
  return fmt::format("runner-up of those tried, {}: {}; penstock layout compares all layouts",
                     distance, text_of(second.layout));
}

std::string missing_text(const TriedLayout& closest) {
  return fmt::format("the closest needs {} more than the {} of a device: {}",
                     bytes_text(closest.peak_bytes - closest.capacity_bytes),
                     bytes_text(closest.capacity_bytes), text_of(closest.layout));
}

}  // namespace

std::vector<std::string> summary_of(const Starter& starter) {
  const auto& tried = starter.tried;
  const auto fitting = std::count_if(tried.begin(), tried.end(),
                                     [](const TriedLayout& layout) { return layout.fits(); });
  const std::string count = counted(tried.size(), "layout");
  if (!starter.fastest) {
    return {fmt::format("nothing written: of {} tried, none fits in memory", count),
            missing_text(tried[starter.closest]), "try more devices, or devices with more memory"};
  }
  const TriedLayout& fastest = tried[*starter.fastest];
  std::vector<std::string> lines{fmt::format("tried {}, {} of which fit in memory", count, fitting),
                                 fastest_text(fastest)};
  if (starter.runner_up) lines.push_back(runner_up_text(fastest, tried[*starter.runner_up]));
  return lines;
}

}  // namespace penstock
