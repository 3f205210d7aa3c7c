#pragma once

#include <string>
#include <vector>

#include "experiments/measure/reproduction/formula.hpp"
#include "experiments/measure/reproduction/paper.hpp"
#include "experiments/measure/reproduction/row_values.hpp"

namespace penstock {

/// Constants that an earlier run fitted for some rows.
struct GivenSet {
  std::string table;
  std::string judgement;
  std::string apart;  // the values of its columns, separated by blanks
  Names values;
};

/// Constants that are used instead of fits.
struct GivenConstants {
  std::string source_file;
  std::vector<GivenSet> sets;
};

/// Fitted constants, for rows that agree in these columns.
struct FoundConstants {
  std::vector<std::string> apart;  // values of those columns
  Names values;
  double misfit = 0;        // root of the mean square of log(simulated / published), where fitted
  std::size_t rows = 0;     // number of rows in the fit
  std::string source_file;  // of given constants; else they are fitted
};

/// Reads a file that `penstock reproduce -o` wrote, as Markdown or JSON. Throws InputError with the
/// file's name in front.
GivenConstants read_constants(const std::string& path);

/// The constants for a row of a judgement: those of its judgement or else of its table or else of
/// any table; among these, those of its own row or else of its group. If each row had its own,
/// other rows get their geometric mean. Throws InputError if there are none.
FoundConstants constants_for(const GivenConstants& given, const PaperTable& table,
                             const Judgement& judgement, const std::vector<std::string>& group,
                             const std::vector<std::string>& label);

/// The rows of one group to which the constants of a judgement are fitted, except `without`: rows
/// of the table that it names, or of `judged` if it names none and is the judged table.
std::vector<PaperRow> rows_to_fit(const TableCase& of, const Judgement& judgement,
                                  const std::vector<std::string>& group,
                                  const std::vector<PaperRow>& judged, const PaperRow* without);

/// Fits the constants of a judgement to the rows of one group. Without a fit they keep their start
/// values. Throws InputError if there is no such row or table.
FoundConstants fit_constants(const TableCase& of, const Judgement& judgement,
                             const std::vector<std::string>& group,
                             const std::vector<PaperRow>& judged, const PaperRow* without);

}  // namespace penstock
