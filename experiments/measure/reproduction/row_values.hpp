#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "experiments/input/catalogue/catalogue.hpp"
#include "experiments/input/long_work/progress.hpp"
#include "experiments/measure/reproduction/formula.hpp"
#include "experiments/measure/reproduction/paper.hpp"
#include "hardware_models/links/wiring.hpp"

namespace penstock {

/// Counts simulated rows. The number that a fit needs is unknown in advance: until it ends, a
/// typical number of steps is assumed.
class RowProgress {
 public:
  explicit RowProgress(OnProgress on_progress) : on_progress_(std::move(on_progress)) {}

  /// Announces a judgement.
  void expect(const Judgement& judgement, std::size_t rows);
  void begin_judgement();
  /// The number of simulated rows of the current batch, so far.
  void of_batch(std::size_t done);
  void end_batch(std::size_t rows) { done_ += rows; }

 private:
  OnProgress on_progress_;
  std::vector<std::uint64_t> expected_;  // of the remaining judgements
  std::size_t next_ = 0;
  std::uint64_t done_ = 0;
  std::uint64_t end_ = 0;  // of the current judgement
};

/// A table of a paper, and what is needed to simulate its rows.
struct TableCase {
  const Paper& paper;
  const PaperTable& table;
  const Catalogue* catalogue = nullptr;  // where rows are simulated
  RowProgress* progress = nullptr;
  std::shared_ptr<Clusters> clusters = std::make_shared<Clusters>();
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

/// Whether a formula over columns and names is true for a row of the table, whatever the constants.
bool holds(const TableCase& table, const PaperRow& row, const std::string& formula);

/// Whether other rows are relative to this one.
bool is_reference(const TableCase& table, const PaperRow& row);

/// The scenario of a row, as JSON text, with constants where their search starts.
std::string scenario_of(const TableCase& table, const PaperRow& row);

/// A row ready to be simulated with many choices of constants: what does not depend on them is
/// worked out once. Both arguments must outlive it. Throws InputError with the paper's file, table
/// and row.
class PreparedRow {
 public:
  PreparedRow(const TableCase& of, const PaperRow& row);

  /// Throws InputError as the constructor does, also for a run that does not finish.
  RowValues simulate(const Names& constants) const;

 private:
  struct Parts;
  std::shared_ptr<const Parts> parts_;
};

/// The values of rows for each choice of constants, simulated on all cores. If the table has
/// references, values are relative to their reference, which is one of `others` or of the table's
/// rows. Throws InputError with the paper's file in front.
std::vector<std::vector<RowValues>> row_values(const TableCase& table,
                                               const std::vector<PaperRow>& rows,
                                               const std::vector<PaperRow>& others,
                                               const std::vector<Names>& choices);

}  // namespace penstock
