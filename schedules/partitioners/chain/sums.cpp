#include "schedules/partitioners/chain/sums.hpp"

#include <algorithm>

#include "schedules/partitioners/problem/cut_problem.hpp"

namespace penstock {
namespace {

/// The rows of a table over stages and ends.
struct SumTable {
  std::vector<std::vector<double>> least;
  std::vector<std::vector<std::uint32_t>> from;

  SumTable(std::uint32_t stages, std::size_t ends)
      : least(stages + 1, std::vector<double>(ends, no_cut)),
        from(stages + 1, std::vector<std::uint32_t>(ends, 0)) {
    least[0][0] = 0;
  }

  LeastSum traced(std::uint32_t stages) const {
    const auto size = static_cast<std::uint32_t>(least[0].size()) - 1;
    LeastSum best{least[stages][size], std::vector<std::uint32_t>(stages + 1, size)};
    for (std::uint32_t s = stages; s > 0; --s) best.cuts[s - 1] = from[s][best.cuts[s]];
    return best;
  }
};

/// A range of ends whose best beginnings are in a range.
struct EndRange {
  std::uint32_t first_end, last_end;
  std::uint32_t first_begin, last_begin;
};

/// Fills a row for a range of ends: the middle first, then both halves.
void fill_row(std::span<const double> prefix, std::uint32_t s, EndRange range, SumTable& table) {
  if (range.first_end > range.last_end) return;
  const std::uint32_t end = range.first_end + (range.last_end - range.first_end) / 2;
  std::uint32_t best = range.first_begin;
  for (std::uint32_t begin = range.first_begin; begin <= range.last_begin && begin < end; ++begin) {
    const double cost = prefix[end] - prefix[begin];
    const double sum = table.least[s - 1][begin] + cost * cost;
    if (sum >= table.least[s][end]) continue;
    table.least[s][end] = sum;
    best = begin;
  }
  table.from[s][end] = best;
  if (end > range.first_end) {
    fill_row(prefix, s, {range.first_end, end - 1, range.first_begin, best}, table);
  }
  fill_row(prefix, s, {end + 1, range.last_end, best, range.last_begin}, table);
}

}  // namespace

LeastSum least_squares(std::span<const double> prefix, std::uint32_t stages) {
  const auto size = static_cast<std::uint32_t>(prefix.size()) - 1;
  SumTable table(stages, prefix.size());
  for (std::uint32_t s = 1; s <= stages; ++s)
    fill_row(prefix, s, {s, size, s - 1, size - 1}, table);
  return table.traced(stages);
}

std::optional<LeastSum> least_boundaries(std::span<const double> prefix,
                                         std::span<const double> boundary, double longest,
                                         std::uint32_t stages, bool exactly) {
  const auto size = static_cast<std::uint32_t>(prefix.size()) - 1;
  SumTable table(stages, prefix.size());
  for (std::uint32_t s = 1; s <= stages; ++s) {
    for (std::uint32_t end = s; end <= size; ++end) {
      const double own = end == size ? 0 : boundary[end];
      for (std::uint32_t begin = end; begin-- > s - 1;) {
        if (prefix[end] - prefix[begin] > longest) break;
        const double sum = table.least[s - 1][begin] + own;
        if (sum > table.least[s][end] || sum == no_cut) continue;
        table.least[s][end] = sum;
        table.from[s][end] = begin;
      }
    }
  }
  std::uint32_t count = stages;
  for (std::uint32_t s = 1; !exactly && s <= stages; ++s) {
    if (table.least[s][size] < table.least[count][size]) count = s;
  }
  if (table.least[count][size] == no_cut) return std::nullopt;
  return table.traced(count);
}

}  // namespace penstock
