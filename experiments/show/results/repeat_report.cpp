#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "experiments/input/files/json_output.hpp"
#include "experiments/input/files/table.hpp"
#include "experiments/run/repeat.hpp"

namespace penstock {
namespace {

ordered_json quantiles_json(const Distribution& distribution) {
  constexpr std::array<std::pair<const char*, double>, 5> shares{
      {{"p05", 0.05}, {"p25", 0.25}, {"p50", 0.5}, {"p75", 0.75}, {"p95", 0.95}}};
  ordered_json all = ordered_json::object();
  for (const auto& [name, share] : shares) all[name] = quantile_us(distribution, share);
  return all;
}

/// The makespans in equal steps from shortest to longest, one bar each.
std::string histogram(const std::vector<Time>& sorted, TimeUnit unit) {
  constexpr std::size_t bars = 10;
  constexpr std::size_t longest_bar = 50;
  const std::int64_t shortest = sorted.front().picoseconds;
  const std::int64_t width =
      std::max<std::int64_t>(1, (sorted.back().picoseconds - shortest) / bars);
  std::array<std::size_t, bars> counts{};
  for (const Time time : sorted) {
    const auto bar = static_cast<std::size_t>((time.picoseconds - shortest) / width);
    ++counts[std::min(bar, bars - 1)];
  }
  const std::size_t most = *std::max_element(counts.begin(), counts.end());
  std::vector<std::vector<std::string>> rows{{"from", "draws"}};
  for (std::size_t bar = 0; bar < bars; ++bar) {
    const Time from{shortest + static_cast<std::int64_t>(bar) * width};
    const std::size_t length = (counts[bar] * longest_bar + most - 1) / most;
    rows.push_back(
        {time_text(from, unit), fmt::format("{}", counts[bar]), std::string(length, '#')});
  }
  return aligned(rows, {2});
}

}  // namespace

ordered_json distribution_json(const Distribution& distribution) {
  constexpr std::size_t most_listed = 10'000;
  const std::vector<Time>& sorted = distribution.sorted;
  ordered_json document{
      {"count", distribution.makespans.size()},
      {"unfinished", distribution.makespans.size() - sorted.size()},
      {"mean_us", number_or_null(distribution.mean)},
      {"stddev_us", number_or_null(distribution.standard_deviation)},
      {"min_us", sorted.empty() ? ordered_json() : ordered_json(to_us(sorted.front()))},
      {"max_us", sorted.empty() ? ordered_json() : ordered_json(to_us(sorted.back()))},
      {"quantiles_us", sorted.empty() ? ordered_json() : quantiles_json(distribution)}};
  const auto& within = distribution.mean_within;
  document["mean_interval_95_us"] =
      within ? ordered_json{within->first, within->second} : ordered_json();
  ordered_json listed = ordered_json::array();
  for (const auto& makespan : distribution.makespans) {
    if (listed.size() == most_listed) break;
    listed.push_back(makespan ? ordered_json(to_us(*makespan)) : ordered_json());
  }
  document["makespans_us"] = std::move(listed);
  return document;
}

std::string distribution_text(const Distribution& distribution) {
  const std::size_t draws = distribution.makespans.size();
  const std::vector<Time>& sorted = distribution.sorted;
  std::string text = counted(draws, "draw");
  if (sorted.size() < draws) {
    text += fmt::format(", of which {} did not finish", draws - sorted.size());
  }
  if (sorted.empty()) return text + "\n";
  const TimeUnit unit = unit_for(sorted.back());
  const auto in_unit = [&](double us) { return time_text(from_us(us), unit); };
  text += fmt::format(": step time {}", in_unit(*distribution.mean));
  if (const auto& within = distribution.mean_within) {
    text += fmt::format(" ± {} {} (mean, 95 % confidence)\n",
                        in_unit((within->second - within->first) / 2), unit.name);
    text += fmt::format("standard deviation {}, ", in_unit(*distribution.standard_deviation));
  } else {
    text += fmt::format(" {}\n", unit.name);
  }
  text += fmt::format(
      "from {} to {}, median {}, 90 % from {} to {}\n", time_text(sorted.front(), unit),
      time_text(sorted.back(), unit), in_unit(quantile_us(distribution, 0.5)),
      in_unit(quantile_us(distribution, 0.05)), in_unit(quantile_us(distribution, 0.95)));
  if (sorted.front() == sorted.back()) return text;
  return text + "\n" + histogram(sorted, unit);
}

}  // namespace penstock
