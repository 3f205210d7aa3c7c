#include "experiments/input/files/table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace penstock {

namespace {

/// Four significant digits of a small number, without the exponent of "%g": 0.000003385.
std::string small_text(double value) {
  const int zeros = static_cast<int>(-std::floor(std::log10(std::abs(value))));
  std::string text = fmt::format("{:.{}f}", value, zeros + 3);
  text.erase(text.find_last_not_of('0') + 1);
  return text;
}

}  // namespace

std::string number_text(double value) {
  const double size = std::abs(value);
  if (value == 0 || !std::isfinite(value) || size >= 1e15 || size < 1e-12) {
    return fmt::format("{:.4g}", value == 0 ? 0 : value);
  }
  if (size >= 999.95) return fmt::format("{:.0f}", value);
  return size < 1e-4 ? small_text(value) : fmt::format("{:.4g}", value);
}

std::string time_text(Time time, TimeUnit unit) {
  return number_text(static_cast<double>(time.picoseconds) / static_cast<double>(unit.picoseconds));
}

std::string percent_text(double share) {
  const double tenths = std::round(share * 1000);
  return tenths == 0 ? "0.0 %" : fmt::format("{:.1f} %", share * 100);
}

std::string signed_percent_text(double share) {
  const std::string text = percent_text(share);
  return text == "0.0 %" || share < 0 ? text : "+" + text;
}

std::string counted(std::uint64_t count, std::string_view one, std::string_view many) {
  if (count == 1) return fmt::format("1 {}", one);
  return many.empty() ? fmt::format("{} {}s", count, one) : fmt::format("{} {}", count, many);
}

std::string aligned(const TableRows& rows, const std::vector<std::size_t>& left) {
  std::vector<std::size_t> widths;
  for (const auto& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (std::size_t c = 0; c < row.size(); ++c) widths[c] = std::max(widths[c], row[c].size());
  }
  std::string text;
  for (const auto& row : rows) {
    std::string line;
    for (std::size_t c = 0; c < row.size(); ++c) {
      if (c != 0) line += "  ";
      const bool to_left = std::ranges::find(left, c) != left.end();
      line += to_left ? fmt::format("{:<{}}", row[c], widths[c])
                      : fmt::format("{:>{}}", row[c], widths[c]);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  return text;
}

std::string more_text(std::size_t all, std::size_t listed) {
  return all > listed ? fmt::format("({} more; --json has all)\n", all - listed) : "";
}

std::string table_of_ranks(std::size_t ranks, TableRow heads,
                           const std::function<TableRow(std::size_t rank)>& cells) {
  // With hundreds of ranks, the first and last ones suffice.
  constexpr std::size_t most_rows = 64;
  heads.insert(heads.begin(), "rank");
  TableRows rows{std::move(heads)};
  for (std::size_t r = 0; r < ranks; ++r) {
    if (ranks > most_rows && r == most_rows / 2) r = ranks - most_rows / 2;
    rows.push_back(cells(r));
    rows.back().insert(rows.back().begin(), fmt::format("{}", r));
  }
  std::string text = aligned(rows);
  if (ranks > most_rows) {
    text += fmt::format("({} in the middle left out; --json has all)\n",
                        counted(ranks - most_rows, "rank"));
  }
  return text;
}

}  // namespace penstock
