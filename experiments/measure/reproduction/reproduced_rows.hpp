#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "experiments/measure/reproduction/formula.hpp"
#include "experiments/measure/reproduction/paper.hpp"

namespace penstock {

/// A published number and its simulated value.
struct ReproducedRow {
  std::vector<std::string> label;  // columns that identify the row
  double published = 0;
  double simulated = 0;
  double error = 0;        // simulated over published, less one
  bool ranked = false;     // part of the compared ranking
  bool judged = false;     // its error counts; else only shown, such as a reference
  bool fitted = false;     // constants were fitted to it
  bool anchor = false;     // the other rows are scaled by it
  bool reference = false;  // the others are relative to it
  bool predicted = false;  // nothing published to hold it against
  std::vector<double> shown;
  std::string finding;
};

/// Fitted constants, for rows that agree in these columns.
struct FoundConstants {
  std::vector<std::string> apart;  // values of those columns
  Names values;
  double misfit = 0;        // root of the mean square of log(simulated / published), where fitted
  std::size_t rows = 0;     // number of rows in the fit
  std::string source_file;  // of given constants; else they are fitted
};

/// The errors of some rows.
struct ErrorTotals {
  std::size_t rows = 0;
  double mean = 0;   // of the absolute errors
  double bias = 0;   // mean of the signed errors
  double worst = 0;  // with its sign
};

/// The result of one judgement of a table.
struct JudgedTable {
  std::string name;
  std::vector<FoundConstants> constants;
  std::vector<ReproducedRow> rows;
  ErrorTotals judged;
  ErrorTotals unjudged;           // neither judged nor fitted, reference or anchor
  bool tells_unjudged = false;    // for other rows than the paper's, or other constants than fitted
  std::optional<double> ranking;  // if there are pairs to rank
  std::size_t ranked_pairs = 0;
  std::size_t pairs_in_order = 0;  // as published
  bool met = true;                 // all targets are met
};

/// The share of ranked pairs that simulation puts in the published order; 0 without pairs.
inline double share_in_order(const JudgedTable& judged) {
  if (judged.ranked_pairs == 0) return 0;
  return static_cast<double>(judged.pairs_in_order) / static_cast<double>(judged.ranked_pairs);
}

struct ReproducedTable {
  std::vector<JudgedTable> judgements;  // in the order of the paper
};

/// The tables of a paper with their simulated values.
struct Reproduction {
  std::vector<ReproducedTable> tables;

  bool met() const;
};

/// Fills in the totals over the judged rows of a table, and whether its targets are met.
void sum_up(const Judgement& judgement, const PaperTable& table, const std::vector<PaperRow>& rows,
            JudgedTable& judged);

}  // namespace penstock
