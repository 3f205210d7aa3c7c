#pragma once

#include <memory>
#include <string>

#include "experiments/input/catalogue/catalogue.hpp"
#include "experiments/measure/reproduction/formula.hpp"
#include "experiments/measure/reproduction/paper.hpp"
#include "hardware_models/links/wiring.hpp"

namespace penstock {

/// A row of a paper's table, with values for the paper's constants.
struct RowCase {
  const Paper& paper;
  const PaperTable& table;
  const PaperRow& row;
  Names constants;
  const Catalogue* catalogue = nullptr;  // read again if missing
  std::shared_ptr<Clusters> clusters = nullptr;
};

/// Both values of a row.
struct RowValues {
  double published = 0;
  double simulated = 0;
  std::vector<double> shown;  // as `PaperTable::shown`
  std::string finding;        // a finding of its run, such as out of memory
};

/// The start values of the paper's constants.
Names start_constants(const Paper& paper);

/// Whether a formula over the columns and names of a row is true.
bool holds(const std::string& formula, const RowCase& row);

/// The scenario of a row, as JSON text.
std::string scenario_of(const RowCase& row);

/// A row ready to be simulated with many choices of constants: what does not depend on them is
/// worked out once. Throws InputError with the paper's file, table and row.
class PreparedRow {
 public:
  PreparedRow(const Paper& paper, const PaperTable& table, const PaperRow& row,
              const Catalogue* catalogue, std::shared_ptr<Clusters> clusters);

  /// Throws InputError as the constructor does, also for a run that does not finish.
  RowValues simulate(const Names& constants) const;

 private:
  struct Parts;
  std::shared_ptr<const Parts> parts_;
};

}  // namespace penstock
