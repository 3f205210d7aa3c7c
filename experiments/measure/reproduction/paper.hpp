#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "experiments/measure/reproduction/formula.hpp"
#include "validate/calibration/fit.hpp"

namespace penstock {

/// A number that the paper does not give; fitted to published results.
struct PaperConstant {
  std::string name;
  std::string is;
  std::string unit;
  FitRange range;
};

/// A cell of a CSV file, by row and column, from 0.
struct CsvPlace {
  std::string file;
  std::size_t row = 0;
  std::size_t column = 0;
};

/// A value of a row: JSON text, and its number, if it is one.
struct PaperCell {
  std::string json;
  std::optional<double> number;
  std::optional<CsvPlace> place = {};  // of a row that a CSV file has

  bool operator==(const PaperCell& other) const { return json == other.json; }
};
using PaperRow = std::vector<PaperCell>;

/// A number as a cell; whole numbers have no decimal point.
PaperCell number_cell(double value);
/// The text of a cell without quotes.
std::string text_of(const PaperCell& cell);

/// Selects rows to which constants are fitted.
struct PaperFit {
  std::vector<std::string> constants;
  std::string table;               // whose rows; empty: the judged table
  std::string rows = "1";          // formula: selects rows
  std::vector<std::string> apart;  // columns: rows that differ in these have separate constants
  bool on_others = false;          // each row is judged by constants fitted to all others
};

/// One comparison of the rows of a table with simulations.
struct Judgement {
  std::string name;
  std::optional<PaperFit> fit;  // without: constants keep their start values
  std::string rows = "1";       // formula: selects the judged rows
  // Targets; each may be absent. Errors are simulated over published, less one.
  std::optional<double> each;          // the largest absolute error of a row
  std::optional<double> mean;          // the mean absolute error
  std::optional<double> ranking;       // the least rank correlation (Kendall's tau)
  std::optional<double> in_order;      // the least share of ranked pairs in the published order
  double apart = 0;                    // only pairs further apart are ranked: in logarithms
  std::vector<std::string> ranked_by;  // columns: only rows that agree in these are ranked
  std::optional<std::size_t> anchor;   // this row, from 0, is given; it scales all others
};

/// Both values of a row are relative to those of another row.
struct PaperReference {
  std::string row;                  // formula: true for that row only
  std::vector<std::string> within;  // among rows that agree in these columns
  bool difference = false;          // subtracted; else divided by
};

/// What a row is compared with: a run of a scenario, or the time of a kernel or of a collective.
enum class RowAsks : std::uint8_t { run, timing };

/// A table of a paper, and how its rows are simulated.
struct PaperTable {
  std::string name;
  std::string is;
  std::string unit;
  std::string note;
  std::vector<std::string> columns;
  std::vector<PaperRow> rows;
  std::vector<std::string> label;                          // columns that identify a row
  std::vector<std::pair<std::string, std::string>> names;  // formulas over columns, in order
  RowAsks asks = RowAsks::run;
  std::string scenario;  // JSON text, for all rows; a question where `asks` is timing
  std::map<std::string, std::map<std::string, std::string>> patches;  // column, its text, JSON text
  std::vector<std::pair<std::string, std::string>> set;               // pointer, column or formula
  std::vector<std::pair<std::string, std::string>> results;  // name, pointer into the answer
  std::string simulated;                                     // a formula
  std::string published;  // a formula; empty: rows are predictions, not judged
  std::vector<std::pair<std::string, std::string>> shown;  // further columns: name, formula
  std::optional<PaperReference> reference;
  std::vector<Judgement> judgements;
};

/// Published results of a paper, and how each number is simulated.
struct Paper {
  std::string source_file;  // for error texts, and to find the files of scenarios
  std::string title;
  std::string source;
  std::vector<std::string> notes;
  std::vector<PaperConstant> constants;
  std::vector<PaperTable> tables;
};

/// Reads a paper.json. Throws InputError with the file's name in front.
Paper read_paper(const std::string& path);

/// Reads rows of a table from a CSV file with a header of column names, in any order. A column of
/// numbers in the rows that the table has is one in the file too. Throws InputError with the file's
/// name in front.
std::vector<PaperRow> read_paper_rows(const std::string& path, const PaperTable& table);

/// The table to whose rows the constants of a judgement are fitted; null if the paper lacks it.
const PaperTable* fitted_table(const Paper& paper, const PaperTable& judged,
                               const Judgement& judgement);

/// The number of a column. Throws InputError with the known columns.
std::size_t column_of(const PaperTable& table, std::string_view name);

/// The numbers of a row, by their columns.
Names numbers_of(const PaperTable& table, const PaperRow& row);

/// Some cells of a row as text without quotes.
std::vector<std::string> cells_of(const PaperTable& table, const PaperRow& row,
                                  const std::vector<std::string>& columns);

/// What a paper.json takes, as the text of a schema: its tables need not repeat `every_table`.
std::string_view paper_schema();

}  // namespace penstock
