#include "experiments/program/pages/reported_rows.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <functional>
#include <queue>
#include <utility>

#include "experiments/input/files/files.hpp"
#include "experiments/plan/sweeps/row_text.hpp"
#include "experiments/plan/sweeps/sweep_result.hpp"
#include "sim/base/error.hpp"

namespace penstock {
namespace {

/// A row while the best ones are chosen.
struct RankedRow {
  double rate = 0;  // samples per second; below 0 without a result
  std::uint64_t place = 0;
  std::string line;

  /// Whether it is dropped later: of equal ones, the first row stays.
  bool operator>(const RankedRow& other) const {
    return rate != other.rate ? rate > other.rate : place < other.place;
  }
};

/// The rate of a row, found without reading the rest of it.
double rate_in(std::string_view row) {
  constexpr std::string_view key = "\"samples_per_s\":";
  const std::size_t at = row.rfind(key);
  if (at == std::string_view::npos || !has_result(row)) return -1;
  double rate = -1;
  std::from_chars(row.data() + at + key.size(), row.data() + row.size(), rate);
  return rate;
}

/// The smallest rate is on top.
using Kept = std::priority_queue<RankedRow, std::vector<RankedRow>, std::greater<>>;

std::vector<RankedRow> in_file_order(Kept kept) {
  std::vector<RankedRow> rows;
  for (; !kept.empty(); kept.pop()) rows.push_back(kept.top());
  std::sort(rows.begin(), rows.end(),
            [](const RankedRow& a, const RankedRow& b) { return a.place < b.place; });
  return rows;
}

void take_label(std::string_view line, const std::string& path, ReportedRows& all) {
  const auto label = label_of_row(line);
  if (!label) throw refused_file(path, "line 1 is no row of a sweep");
  all.of = label->of;
  all.sweep = label->sweep;
  all.version = label->version;
}

std::vector<std::size_t> quickest_of(const std::vector<RankedRow>& rows) {
  std::vector<std::size_t> quickest;
  for (std::size_t r = 0; r < rows.size(); ++r) {
    if (rows[r].rate >= 0) quickest.push_back(r);
  }
  std::stable_sort(quickest.begin(), quickest.end(),
                   [&](std::size_t a, std::size_t b) { return rows[a].rate > rows[b].rate; });
  return quickest;
}

}  // namespace

ReportedRows read_reported_rows(const std::string& path, std::size_t most) {
  RowLines lines(path);
  ReportedRows all;
  Kept kept;
  for (; const auto line = lines.next(); ++all.rows) {
    if (all.rows == 0) take_label(*line, path, all);
    all.with_result += has_result(*line) ? 1 : 0;
    kept.push({rate_in(*line), all.rows, std::string(*line)});
    if (kept.size() > most) kept.pop();
  }
  if (all.rows == 0) throw refused_file(path, "it has no rows");
  std::vector<RankedRow> rows = in_file_order(std::move(kept));
  all.quickest = quickest_of(rows);
  std::string text;
  for (RankedRow& row : rows) {
    text += row.line + '\n';
    all.lines.push_back(std::move(row.line));
  }
  try {
    all.table = row_table_of(text);
  } catch (const InputError& error) {
    throw in_file(path, error);
  }
  return all;
}

}  // namespace penstock
