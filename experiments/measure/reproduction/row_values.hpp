#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "experiments/input/catalogue/catalogue.hpp"
#include "experiments/input/long_work/progress.hpp"
#include "experiments/measure/reproduction/row_simulation.hpp"
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
  const Catalogue& catalogue;
  RowProgress* progress = nullptr;
  std::shared_ptr<Clusters> clusters = std::make_shared<Clusters>();
};

/// Whether a formula over columns and names is true for a row of the table, whatever the constants.
bool holds(const TableCase& table, const PaperRow& row, const std::string& formula);

/// Whether other rows are relative to this one.
bool is_reference(const TableCase& table, const PaperRow& row);

/// The values of rows for each choice of constants, simulated on all cores. If the table has
/// references, values are relative to their reference, which is one of `others` or of the table's
/// rows. Throws InputError with the paper's file in front.
std::vector<std::vector<RowValues>> row_values(const TableCase& table,
                                               const std::vector<PaperRow>& rows,
                                               const std::vector<PaperRow>& others,
                                               const std::vector<Names>& choices);

}  // namespace penstock
