#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/short_text.hpp"  // the texts of times and bytes
#include "sim/base/time.hpp"

namespace penstock {

/// Up to four significant digits below 1000, a whole number above. An exponent only for extreme
/// values.
std::string number_text(double value);
std::string time_text(Time time, TimeUnit unit);
/// "12.5 %", and "+12.5 %" of a difference; never "-0.0 %".
std::string percent_text(double share);
std::string signed_percent_text(double share);
/// "1 rank", "2 ranks"; without `many`, the plural is `one` and an s.
std::string counted(std::uint64_t count, std::string_view one, std::string_view many = {});
/// The texts of items, without empty ones.
template <class Items, class Text>
std::string joined(const Items& items, Text text, std::string_view between = ", ") {
  std::string all;
  for (const auto& item : items) {
    const std::string one(std::invoke(text, item));
    if (!one.empty()) all += (all.empty() ? "" : std::string(between)) + one;
  }
  return all;
}

using TableRow = std::vector<std::string>;
using TableRows = std::vector<TableRow>;

/// The head of a table, and a row for each of the first `most` items.
template <class Items, class Cells>
TableRows table_rows(TableRow head, const Items& items, Cells cells, std::size_t most = SIZE_MAX) {
  TableRows rows{std::move(head)};
  for (const auto& item : items) {
    if (rows.size() > most) break;
    rows.push_back(std::invoke(cells, item));
  }
  return rows;
}

/// A table whose first row is the header. Columns are right-aligned, except for those in `left`.
std::string aligned(const TableRows& rows, const std::vector<std::size_t>& left = {});

/// The line below a table that lists some of its rows: "(3 more; --json has all)"; empty for all.
std::string more_text(std::size_t all, std::size_t listed);

/// A table with one row per rank. `cells` returns the cells after the rank's number. Of hundreds of
/// ranks, those in the middle are left out.
std::string table_of_ranks(std::size_t ranks, TableRow heads,
                           const std::function<TableRow(std::size_t rank)>& cells);

}  // namespace penstock
