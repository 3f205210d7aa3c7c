#pragma once

#include <string>

#include "experiments/catalogue/catalogue.hpp"
#include "experiments/reproduction/formula.hpp"
#include "experiments/reproduction/paper.hpp"

namespace penstock {

/// A row of a table of a paper, with values for the paper's constants.
struct RowCase {
  const Paper& paper;
  const PaperTable& table;
  const PaperRow& row;
  Names constants;
  const Catalogue* catalogue = nullptr;  // read anew where there is none
};

/// What a row comes to when it is simulated.
struct SimulatedRow {
  double value = 0;
  std::string finding;  // what its run found, such as memory that does not suffice
};

/// Whether a formula over the columns and names of a row holds.
bool holds(const std::string& formula, const RowCase& row);

/// The scenario of a row, as JSON text.
std::string scenario_of(const RowCase& row);

/// Simulates a row, and reads off what it published. Throw InputError with the paper's file, the
/// table and the row in front; a run that does not finish is one.
SimulatedRow simulate_row(const RowCase& row);
double published_by(const RowCase& row);

}  // namespace penstock
