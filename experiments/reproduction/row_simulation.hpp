#pragma once

#include <string>

#include "experiments/catalogue/catalogue.hpp"
#include "experiments/reproduction/formula.hpp"
#include "experiments/reproduction/paper.hpp"

namespace penstock {

/// A row of a paper's table, with values for the paper's constants.
struct RowCase {
  const Paper& paper;
  const PaperTable& table;
  const PaperRow& row;
  Names constants;
  const Catalogue* catalogue = nullptr;  // read again if missing
};

/// The result of simulating a row.
struct SimulatedRow {
  double value = 0;
  std::string finding;  // a finding of its run, such as out of memory
};

/// Whether a formula over the columns and names of a row is true.
bool holds(const std::string& formula, const RowCase& row);

/// The scenario of a row, as JSON text.
std::string scenario_of(const RowCase& row);

/// Simulates a row; reads its published value. Both throw InputError with the paper's file, table
/// and row, also for a run that does not finish.
SimulatedRow simulate_row(const RowCase& row);
double published_by(const RowCase& row);

}  // namespace penstock
