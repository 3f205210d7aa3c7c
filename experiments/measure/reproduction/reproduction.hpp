#pragma once

#include <cstddef>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "experiments/input/long_work/progress.hpp"
#include "experiments/measure/reproduction/constants.hpp"
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

/// A paper with one table, of which one row is given: it scales the simulated values of all others,
/// and these are judged. Nothing is fitted; the first judgement's constants may be given. `rows`
/// are those to judge, `row` is one of them, from 0. Throws InputError for a table that the paper
/// lacks.
Paper anchored(Paper paper, const std::string& table, const std::vector<PaperRow>& rows,
               std::size_t row, bool has_constants);

/// Rows to judge instead of those of a table; constants are still fitted to the paper's rows.
struct OtherRows {
  std::string table;
  std::vector<PaperRow> rows;
};

struct ReproduceOptions {
  std::optional<OtherRows> other = {};
  std::optional<GivenConstants> constants = {};  // instead of fits
  OnProgress on_progress = {};
};

/// Fits constants, simulates every row and judges it. Throws InputError.
Reproduction reproduce(const Paper& paper, const ReproduceOptions& options = {});

/// A reproduction for the terminal: tables with published and simulated values, constants,
/// verdicts. Each judgement shows the rows that have a part in it, if many only those with the
/// largest errors.
std::string reproduction_text(const Paper& paper, const Reproduction& reproduction);

/// The same as Markdown, without a limit of rows.
std::string reproduction_markdown(const Paper& paper, const Reproduction& reproduction);

/// One line per judgement: its name, number of rows, errors.
std::vector<std::string> summary_heads();
std::vector<std::vector<std::string>> summary_rows(const std::string& name, const Paper& paper,
                                                   const Reproduction& reproduction);

nlohmann::ordered_json reproduction_json(const Paper& paper, const Reproduction& reproduction);

}  // namespace penstock
