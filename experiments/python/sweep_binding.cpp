#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "experiments/input/catalogue/catalogue.hpp"
#include "experiments/input/files/plain_text.hpp"
#include "experiments/plan/sweeps/configured.hpp"
#include "experiments/plan/sweeps/missing_values.hpp"
#include "experiments/plan/sweeps/run_sweep.hpp"
#include "experiments/plan/sweeps/space/read_sweep.hpp"
#include "experiments/plan/sweeps/tables/row_table.hpp"
#include "experiments/python/background.hpp"
#include "experiments/python/column.hpp"
#include "experiments/python/module.hpp"

namespace penstock::python {
namespace {

namespace nb = nanobind;

/// Rows of a sweep, as JSON Lines.
struct SweepRows {
  std::string text;
  SweepCount count;
  std::string missing;  // which values no row has
};

SweepRows rows_of_sweep(const SweepArguments& arguments, std::size_t jobs, const Stop& stop) {
  const SweepSpace space = sweep_space_of(arguments);
  SweepRows rows;
  const TakeRows take = [&](std::string_view more) { rows.text += more; };
  rows.count = run_sweep(space, read_catalogue(),
                         {.shard = {},
                          .done = 0,
                          .jobs = jobs,
                          .asked_to_stop = [stop] { return stop->load(); },
                          .on_progress = {}},
                         take);
  MissingValues missing(space.request().results);
  missing.look_in(rows.text);
  rows.missing = missing.text();
  return rows;
}

SweepRows run_whole_sweep(const std::string& source, const std::optional<std::string>& text,
                          const std::vector<std::string>& settings,
                          const std::vector<std::string>& axes,
                          const std::vector<std::string>& conditions,
                          const std::vector<std::string>& results,
                          std::optional<std::uint64_t> sample, const std::string& method,
                          std::uint64_t seed, std::optional<std::size_t> jobs) {
  SweepArguments arguments{.file = source,
                           .text = text,
                           .settings = settings,
                           .axes = axes,
                           .conditions = conditions,
                           .results = results,
                           .sample = {}};
  if (sample) {
    arguments.sample = Sample{.method = sample_method_of(method), .count = *sample, .seed = seed};
  }
  return in_background([arguments, most = jobs.value_or(SIZE_MAX)](const Stop& stop) {
    return rows_of_sweep(arguments, most, stop);
  });
}

/// Sets which values of a column are there.
void set_present(Column& column, const std::vector<const TableCell*>& cells) {
  column.missing = std::count_if(cells.begin(), cells.end(),
                                 [](const TableCell* cell) { return cell->empty(); });
  if (column.missing == 0) return;
  column.present.resize((cells.size() + 7) / 8);
  for (std::size_t i = 0; i < cells.size(); ++i) {
    if (!cells[i]->empty()) column.present[i / 8] |= static_cast<std::uint8_t>(1U << (i % 8));
  }
}

/// Whole numbers where all values are; nothing for any other column.
std::optional<std::vector<std::int64_t>> whole_numbers(const std::vector<const TableCell*>& cells) {
  std::vector<std::int64_t> values;
  for (const TableCell* cell : cells) {
    const auto value = cell->is_number ? whole_number<std::int64_t>(cell->text) : std::nullopt;
    if (!value) return std::nullopt;
    values.push_back(*value);
  }
  return values;
}

Column column_of_cells(const std::string& name, const std::vector<const TableCell*>& cells) {
  if (auto whole = whole_numbers(cells)) {
    return own_column(name, ColumnType::int64, std::move(*whole));
  }
  const bool all_numbers = std::all_of(cells.begin(), cells.end(), [](const TableCell* cell) {
    return cell->is_number || cell->empty();
  });
  const bool any = std::any_of(cells.begin(), cells.end(),
                               [](const TableCell* cell) { return cell->is_number; });
  if (all_numbers && any) {
    std::vector<double> values;
    for (const TableCell* cell : cells) {
      values.push_back(cell->number().value_or(std::numeric_limits<double>::quiet_NaN()));
    }
    Column column = own_column(name, ColumnType::float64, std::move(values));
    set_present(column, cells);
    return column;
  }
  std::vector<std::string_view> texts;
  for (const TableCell* cell : cells) texts.emplace_back(cell->text);
  Column column = text_column(name, texts);
  set_present(column, cells);
  return column;
}

/// Step times where no row has one.
Column no_step_times(std::size_t rows) {
  const TableCell none;
  const std::vector<double> values(rows, std::numeric_limits<double>::quiet_NaN());
  Column column = own_column("makespan_us", ColumnType::float64, values);
  set_present(column, std::vector<const TableCell*>(rows, &none));
  return column;
}

std::shared_ptr<const Table> table_of(const SweepRows& rows) {
  const RowTable read = row_table_of(rows.text);
  auto table = std::make_shared<Table>();
  for (std::size_t i = 0; i < read.columns.size(); ++i) {
    std::vector<const TableCell*> cells;
    for (const auto& row : read.rows) cells.push_back(&row[i]);
    table->columns.push_back(
        std::make_shared<const Column>(column_of_cells(read.columns[i], cells)));
  }
  if (rows.count.with_result == 0) {
    table->columns.push_back(std::make_shared<const Column>(no_step_times(read.rows.size())));
  }
  return table;
}

}  // namespace

void bind_sweeps(nb::module_& module) {
  nb::class_<SweepRows>(module, "SweepRows", "Rows of a sweep.")
      .def_ro("text", &SweepRows::text)
      .def_ro("missing", &SweepRows::missing)
      .def_prop_ro("count", [](const SweepRows& rows) { return rows.count.rows; })
      .def_prop_ro("with_result", [](const SweepRows& rows) { return rows.count.with_result; })
      .def_prop_ro("reason",
                   [](const SweepRows& rows) {
                     return rows.count.first_without.empty()
                                ? std::string()
                                : reason_of_row(rows.count.first_without);
                   })
      .def("table", table_of, nb::call_guard<nb::gil_scoped_release>());
  module.def("sweep", run_whole_sweep, nb::arg("source"), nb::arg("text"), nb::arg("settings"),
             nb::arg("axes"), nb::arg("conditions"), nb::arg("results"), nb::arg("sample"),
             nb::arg("method"), nb::arg("seed"), nb::arg("jobs"));
}

}  // namespace penstock::python
