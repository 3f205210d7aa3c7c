#include "experiments/measure/reproduction/row_values.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "experiments/input/files/files.hpp"
#include "experiments/input/long_work/parallel.hpp"
#include "sim/base/error.hpp"

namespace penstock {
namespace {

using Rows = std::vector<PaperRow>;

const PaperRow& reference_of(const TableCase& of, const PaperRow& row, const Rows& others) {
  const std::vector<std::string>& within = of.table.reference->within;
  const std::vector<std::string> group = cells_of(of.table, row, within);
  for (const Rows* rows : {&others, &of.table.rows}) {
    for (const PaperRow& other : *rows) {
      if (cells_of(of.table, other, within) == group && is_reference(of, other)) return other;
    }
  }
  const std::string label =
      fmt::format("{}", fmt::join(cells_of(of.table, row, of.table.label), " "));
  throw in_file(of.paper.source_file,
                InputError(of.table.name, fmt::format("no row is the reference of row {}", label)));
}

/// Rows and the references that they need, each reference once.
struct NeededRows {
  Rows rows;
  std::vector<std::size_t> reference;  // of each of the first rows
};

NeededRows needed_rows(const TableCase& of, const Rows& rows, const Rows& others) {
  NeededRows needed{rows, {}};
  if (!of.table.reference) return needed;
  for (const PaperRow& row : rows) {
    const PaperRow& reference = reference_of(of, row, others);
    const auto found = std::find(needed.rows.begin(), needed.rows.end(), reference);
    needed.reference.push_back(static_cast<std::size_t>(found - needed.rows.begin()));
    if (found == needed.rows.end()) needed.rows.push_back(reference);
  }
  return needed;
}

RowValues seen_from(const RowValues& from, RowValues values, bool difference) {
  const auto seen = [&](double value, double by) { return difference ? value - by : value / by; };
  values.published = seen(values.published, from.published);
  values.simulated = seen(values.simulated, from.simulated);
  return values;
}

std::vector<RowValues> seen_from_references(const TableCase& of, const NeededRows& needed,
                                            std::vector<RowValues> values) {
  if (!of.table.reference) return values;
  std::vector<RowValues> seen;
  for (std::size_t row = 0; row < needed.reference.size(); ++row) {
    seen.push_back(
        seen_from(values[needed.reference[row]], values[row], of.table.reference->difference));
  }
  return seen;
}

}  // namespace

void RowProgress::expect(const Judgement& judgement, std::size_t rows) {
  constexpr std::uint64_t usual_steps = 8;
  constexpr std::uint64_t dampings = 6;  // tried by each step of a fit
  if (!judgement.fit) return expected_.push_back(rows);
  const std::uint64_t of_fit = usual_steps * (judgement.fit->constants.size() + dampings) * rows;
  expected_.push_back((judgement.fit->on_others ? rows : 1) * of_fit + rows);
}

void RowProgress::begin_judgement() { end_ = done_ + expected_[next_++]; }

void RowProgress::of_batch(std::size_t done) {
  if (!on_progress_) return;
  const std::uint64_t so_far = done_ + done;
  on_progress_("rows", so_far,
               std::accumulate(expected_.begin() + static_cast<std::ptrdiff_t>(next_),
                               expected_.end(), std::max(end_, so_far)));
}

bool is_reference(const TableCase& table, const PaperRow& row) {
  return table.table.reference && holds(table, row, table.table.reference->row);
}

std::vector<std::vector<RowValues>> row_values(const TableCase& table, const Rows& rows,
                                               const Rows& others,
                                               const std::vector<Names>& choices) {
  const NeededRows needed = needed_rows(table, rows, others);
  const std::size_t count = needed.rows.size();
  std::vector<std::vector<RowValues>> all(choices.size(), std::vector<RowValues>(count));
  std::vector<PreparedRow> prepared;
  for (const PaperRow& row : needed.rows) prepared.emplace_back(table, row);
  const auto simulate = [&](std::size_t number) {
    const std::size_t choice = number / count, row = number % count;
    all[choice][row] = prepared[row].simulate(choices[choice]);
  };
  if (table.progress == nullptr) {
    in_parallel(choices.size() * count, simulate);
  } else {
    in_parallel(choices.size() * count, simulate,
                [&](std::size_t done) { table.progress->of_batch(done); });
    table.progress->end_batch(choices.size() * count);
  }
  for (std::vector<RowValues>& values : all) {
    values = seen_from_references(table, needed, std::move(values));
  }
  return all;
}

}  // namespace penstock
