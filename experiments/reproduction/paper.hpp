#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "validate/calibration/fit.hpp"

namespace penstock {

/// A number that a paper does not give and that is fitted to what it does.
struct PaperConstant {
  std::string name;
  std::string is;
  std::string unit;
  FitRange range;
};

/// A value of a row: JSON text, and the number that it is, if it is one.
struct PaperCell {
  std::string json;
  std::optional<double> number;

  bool operator==(const PaperCell& other) const { return json == other.json; }
};
using PaperRow = std::vector<PaperCell>;

/// A number as a cell; whole ones are written without a point.
PaperCell number_cell(double value);
/// A cell as a reader sees it: text without its quotes.
std::string text_of(const PaperCell& cell);

/// Which rows constants are fitted to.
struct PaperFit {
  std::vector<std::string> constants;
  std::string table;               // whose rows; empty: those of the table that is judged
  std::string rows = "1";          // a formula that says of a row whether it is one of them
  std::vector<std::string> apart;  // columns: rows that differ in these have constants of their own
  bool on_others = false;          // each row is judged by constants fitted to all others
};

/// One way to hold the rows of a table against simulations.
struct Judgement {
  std::string name;
  std::optional<PaperFit> fit;  // without: constants are where they start
  std::string rows = "1";       // a formula that says of a row whether it is judged
  // What must hold, of those that are there. Errors are simulated over published, less one.
  std::optional<double> each;          // the largest error of a row
  std::optional<double> mean;          // the mean of the sizes of all errors
  std::optional<double> ranking;       // the least agreement of ranks (Kendall's tau)
  std::vector<std::string> ranked_by;  // columns: only rows that agree in these are ranked
};

/// Both values of a row are seen from those of another one.
struct PaperReference {
  std::string row;                  // a formula that holds for that row alone
  std::vector<std::string> within;  // of those that agree in these columns
  bool difference = false;          // subtracted; else divided by
};

/// A table of a paper, and how a row of it is simulated.
struct PaperTable {
  std::string name;
  std::string is;
  std::string unit;
  std::string note;
  std::vector<std::string> columns;
  std::vector<PaperRow> rows;
  std::vector<std::string> label;                          // columns that say which row it is
  std::vector<std::pair<std::string, std::string>> names;  // formulas over columns, in order
  std::string scenario;                                    // JSON text, of all rows
  std::map<std::string, std::map<std::string, std::string>> patches;  // column, its text, JSON text
  std::vector<std::pair<std::string, std::string>> set;               // pointer, column or formula
  std::vector<std::pair<std::string, std::string>> results;  // name, pointer into run --json
  std::string simulated;                                     // a formula
  std::string published;                                     // the same
  std::optional<PaperReference> reference;
  std::vector<Judgement> judgements;
};

/// What a paper published, and how each number of it is simulated.
struct Paper {
  std::string source_file;  // for error texts, and to find files that scenarios name
  std::string title;
  std::string source;
  std::vector<std::string> notes;
  std::vector<PaperConstant> constants;
  std::vector<PaperTable> tables;
};

/// Reads a paper.json. Throws InputError with the file's name in front.
Paper read_paper(const std::string& path);

/// Reads rows of a table from a CSV file whose first row names columns, in any order. Throws
/// InputError with the file's name in front.
std::vector<PaperRow> read_paper_rows(const std::string& path, const PaperTable& table);

/// The number of a column. Throws InputError naming the columns that there are.
std::size_t column_of(const PaperTable& table, std::string_view name);

/// The schema file, as shipped.
std::string_view paper_schema();

}  // namespace penstock
