#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <span>

#include "experiments/input/files/json_output.hpp"
#include "experiments/input/files/table.hpp"
#include "experiments/run/repeat.hpp"

namespace penstock {
namespace {

ordered_json quantiles_json(const Distribution& distribution) {
  if (distribution.sorted.empty()) return {};
  return {{"p05", quantile_us(distribution, 0.05)},
          {"p25", quantile_us(distribution, 0.25)},
          {"p50", quantile_us(distribution, 0.5)},
          {"p75", quantile_us(distribution, 0.75)},
          {"p95", quantile_us(distribution, 0.95)}};
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
  const std::size_t most = *std::ranges::max_element(counts);
  TableRows rows{{"from", "draws"}};
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
  const auto bound_us = [&](bool last) {
    if (sorted.empty()) return ordered_json();
    return ordered_json(to_us(last ? sorted.back() : sorted.front()));
  };
  const auto pair_json = [](const auto& pair) { return ordered_json{pair.first, pair.second}; };
  const auto us_or_null = [](const auto& time) { return or_null(time, to_us); };
  const std::size_t listed = std::min(most_listed, distribution.makespans.size());
  return {{"count", distribution.makespans.size()},
          {"unfinished", distribution.makespans.size() - sorted.size()},
          {"mean_us", or_null(distribution.mean)},
          {"stddev_us", or_null(distribution.standard_deviation)},
          {"min_us", bound_us(false)},
          {"max_us", bound_us(true)},
          {"quantiles_us", quantiles_json(distribution)},
          {"mean_interval_95_us", or_null(distribution.mean_within, pair_json)},
          {"makespans_us", list_json(std::span(distribution.makespans).first(listed), us_or_null)}};
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
