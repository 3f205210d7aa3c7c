#include "experiments/run/repeat.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>

#include "experiments/input/long_work/parallel.hpp"

namespace penstock {
namespace {

/// The 97.5 % point of Student's t distribution. Beyond the table, a fit accurate to 0.2 %.
double student_t(std::size_t degrees_of_freedom) {
  constexpr std::array<double, 30> table{12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306,
                                         2.262,  2.228, 2.201, 2.179, 2.160, 2.145, 2.131, 2.120,
                                         2.110,  2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064,
                                         2.060,  2.056, 2.052, 2.048, 2.045, 2.042};
  if (degrees_of_freedom <= table.size()) return table[degrees_of_freedom - 1];
  return 1.95996 + 2.4 / static_cast<double>(degrees_of_freedom);
}

/// Sums the differences from the shortest makespan, which stay small for long makespans.
void find_mean(Distribution& distribution) {
  const std::vector<Time>& sorted = distribution.sorted;
  const double count = static_cast<double>(sorted.size());
  double sum = 0;
  for (const Time time : sorted) sum += to_us(time - sorted.front());
  const double mean = sum / count;
  double squares = 0;
  for (const Time time : sorted) {
    const double distance = to_us(time - sorted.front()) - mean;
    squares += distance * distance;
  }
  distribution.mean = to_us(sorted.front()) + mean;
  if (sorted.size() < 2) return;
  distribution.standard_deviation = std::sqrt(squares / (count - 1));
  const double error =
      student_t(sorted.size() - 1) * *distribution.standard_deviation / std::sqrt(count);
  distribution.mean_within = {*distribution.mean - error, *distribution.mean + error};
}

}  // namespace

std::vector<std::optional<Time>> makespans_of_draws(std::uint32_t count, bool vary,
                                                    const MakespanOf& makespan_of,
                                                    const OnProgress& on_progress) {
  // Without chance, all draws are equal.
  const std::uint32_t different = vary ? count : std::min(count, 1U);
  std::vector<std::optional<Time>> makespans(different);
  std::function<void(std::size_t)> on_done;
  if (on_progress) on_done = [&](std::size_t done) { on_progress("draws", done, different); };
  in_parallel(
      different,
      [&](std::size_t draw) { makespans[draw] = makespan_of(static_cast<std::uint32_t>(draw)); },
      on_done);
  if (different < count) makespans.resize(count, makespans.front());
  return makespans;
}

Distribution distribution_of(std::vector<std::optional<Time>> makespans) {
  Distribution distribution{.makespans = std::move(makespans)};
  for (const auto& makespan : distribution.makespans) {
    if (makespan) distribution.sorted.push_back(*makespan);
  }
  std::ranges::sort(distribution.sorted);
  if (!distribution.sorted.empty()) find_mean(distribution);
  return distribution;
}

double quantile_us(const Distribution& distribution, double share) {
  const std::vector<Time>& sorted = distribution.sorted;
  const double place = share * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(place);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  const double step = to_us(sorted[above] - sorted[below]);
  return to_us(sorted[below]) + (place - static_cast<double>(below)) * step;
}

}  // namespace penstock
