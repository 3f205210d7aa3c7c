#include "experiments/measure/reproduction/anchor.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "sim/base/error.hpp"

namespace penstock {
namespace {

std::string label_of(const PaperTable& table, const PaperRow& row) {
  std::string label;
  for (const std::string& name : table.label) label += " " + text_of(row[column_of(table, name)]);
  return label;
}

}  // namespace

Paper anchored(Paper paper, const std::string& table, const std::vector<PaperRow>& rows,
               std::size_t row, bool has_constants) {
  std::erase_if(paper.tables, [&](const PaperTable& one) { return one.name != table; });
  if (paper.tables.empty()) throw InputError(fmt::format("there is no table \"{}\"", table));
  PaperTable& only = paper.tables.front();
  Judgement judgement;
  judgement.name = fmt::format("scaled by row {}:{}", row + 1, label_of(only, rows[row]));
  judgement.anchor = row;
  if (has_constants) judgement.fit = only.judgements.front().fit;
  only.judgements = {judgement};
  return paper;
}

}  // namespace penstock
