#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "experiments/reproduction/formula.hpp"

namespace penstock {

/// A published number and the simulated one beside it.
struct ReproducedRow {
  std::vector<std::string> label;  // the columns that say which row it is
  double published = 0;
  double simulated = 0;
  double error = 0;     // simulated over published, less one
  bool ranked = false;  // among those whose order is held against the published one
  bool judged = false;  // its error counts; else only shown, as that of a reference is
  bool fitted = false;  // constants were fitted to it
  std::string finding;
};

/// Constants as they were found, for rows of which these columns agree.
struct FoundConstants {
  std::vector<std::string> apart;  // values of those columns
  Names values;
  double misfit = 0;     // root of the mean square of log(simulated / published), where fitted
  std::size_t rows = 0;  // that they were fitted to
};

/// What one judgement of a table came to.
struct JudgedTable {
  std::string name;
  std::vector<FoundConstants> constants;
  std::vector<ReproducedRow> rows;
  std::size_t judged = 0;
  double mean_error = 0;          // of the sizes
  double bias = 0;                // the mean of the errors themselves
  double worst_error = 0;         // with its sign
  std::optional<double> ranking;  // where there are pairs to rank
  std::size_t ranked_pairs = 0;
  bool met = true;  // what must hold does
};

struct ReproducedTable {
  std::vector<JudgedTable> judgements;  // in the order of the paper's
};

/// A paper's tables with what simulation makes of them.
struct Reproduction {
  std::vector<ReproducedTable> tables;

  bool met() const;
};

}  // namespace penstock
