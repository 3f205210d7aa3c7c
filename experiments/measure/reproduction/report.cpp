#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "experiments/input/files/json_output.hpp"
#include "experiments/input/files/output_file.hpp"
#include "experiments/input/files/table.hpp"
#include "experiments/measure/reproduction/reproduction.hpp"

namespace penstock {
namespace {

using Cells = std::vector<std::string>;

std::string mark_of(const ReproducedRow& row) {
  if (row.predicted) return row.finding.empty() ? "predicted" : "predicted; " + row.finding;
  std::string mark = row.fitted ? "fitted" : row.anchor ? "anchor" : row.judged ? "" : "not judged";
  if (!row.finding.empty()) mark += (mark.empty() ? "" : "; ") + row.finding;
  return mark;
}

Cells heads_of(const PaperTable& table) {
  Cells heads = table.label;
  for (const auto& [name, formula] : table.shown) heads.push_back(name);
  for (const char* head : {"published", "simulated", "error", ""}) heads.emplace_back(head);
  return heads;
}

Cells cells_of(const ReproducedRow& row) {
  Cells cells = row.label;
  for (const double value : row.shown) cells.push_back(fmt::format("{:.4g}", value));
  cells.push_back(row.predicted ? "-" : fmt::format("{:.4g}", row.published));
  cells.push_back(fmt::format("{:.4g}", row.simulated));
  cells.push_back(row.predicted ? "-" : signed_percent_text(row.error));
  cells.push_back(mark_of(row));
  return cells;
}

std::string target_of(const Judgement& judgement) {
  Cells targets;
  if (judgement.each) targets.push_back("each within " + percent_text(*judgement.each));
  if (judgement.mean) targets.push_back("mean within " + percent_text(*judgement.mean));
  if (judgement.ranking)
    targets.push_back(fmt::format("ranks agree by {:.2f}", *judgement.ranking));
  if (judgement.in_order)
    targets.push_back(percent_text(*judgement.in_order) + " of pairs in order");
  return fmt::format("{}", fmt::join(targets, ", "));
}

std::string errors_text(const ErrorTotals& totals, const char* which) {
  return fmt::format("{} {}: mean error {}, bias {}, worst {}", counted(totals.rows, "row"), which,
                     percent_text(totals.mean), signed_percent_text(totals.bias),
                     signed_percent_text(totals.worst));
}

/// "42 pairs that differ by more than 8 %".
std::string pairs_text(const JudgedTable& judged, const Judgement& judgement) {
  const std::string pairs = counted(judged.ranked_pairs, "pair");
  if (judgement.apart == 0) return pairs;
  return fmt::format("{} that differ by more than {}", pairs,
                     percent_text(std::expm1(judgement.apart)));
}

std::string verdict_of(const Judgement& judgement, const JudgedTable& judged) {
  std::string text = errors_text(judged.judged, "judged");
  if (judged.judged.rows == 0) text = "no row judged";
  if (judged.tells_unjudged && judged.unjudged.rows > 0) {
    text += "; " + errors_text(judged.unjudged, "not judged");
  }
  if (judged.ranked_pairs > 0 && judgement.ranking) {
    text += fmt::format(", ranks of {} agree by {:.2f}", counted(judged.ranked_pairs, "pair"),
                        *judged.ranking);
  }
  if (judged.ranked_pairs > 0 && judgement.in_order) {
    text +=
        fmt::format(", {} of {} in order", judged.pairs_in_order, pairs_text(judged, judgement));
  }
  const std::string target = target_of(judgement);
  if (target.empty() || judged.judged.rows == 0) return text + ".";
  return fmt::format("{}; {}: {}.", text, target, judged.met ? "met" : "missed");
}

/// Each constant with its value and meaning.
std::string constants_text(const Paper& paper, const Judgement& judgement,
                           const FoundConstants& found) {
  Cells parts;
  for (const std::string& name : judgement.fit->constants) {
    const auto constant = std::ranges::find(paper.constants, name, &PaperConstant::name);
    const double value = found.values.at(name);
    const FitRange& range = constant->range;
    const bool at_bound = value <= range.least * 1.0001 || value >= range.most * 0.9999;
    parts.push_back(fmt::format("{} = {:.4g}{}{}{}", name, value, constant->unit.empty() ? "" : " ",
                                constant->unit, at_bound ? " (at its bound)" : ""));
  }
  const std::string group =
      found.apart.empty() ? "" : fmt::format("{}: ", fmt::join(found.apart, " "));
  if (!found.source_file.empty()) {
    return fmt::format("{}{} (from {})", group, fmt::join(parts, ", "), found.source_file);
  }
  return fmt::format("{}{} (fitted to {}, {} off)", group, fmt::join(parts, ", "),
                     counted(found.rows, "row"), percent_text(found.misfit));
}

std::string meanings(const Paper& paper, const Judgement& judgement, const char* bullet) {
  std::string text;
  for (const PaperConstant& constant : paper.constants) {
    const auto& fitted = judgement.fit->constants;
    if (std::find(fitted.begin(), fitted.end(), constant.name) == fitted.end()) continue;
    text += fmt::format("{}{}: {}\n", bullet, constant.name, constant.is);
  }
  return text;
}

/// The rows to show with a judgement: those that have a part in it. A row without a part in any
/// judgement of the table is shown with the first.
std::vector<const ReproducedRow*> rows_with(const ReproducedTable& table, std::size_t judgement) {
  const auto has_part = [](const JudgedTable& judged, std::size_t row) {
    const ReproducedRow& one = judged.rows[row];
    return one.judged || one.fitted || one.anchor || one.reference || one.predicted;
  };
  const JudgedTable& judged = table.judgements[judgement];
  std::vector<const ReproducedRow*> shown;
  for (std::size_t row = 0; row < judged.rows.size(); ++row) {
    const bool has_none = std::none_of(table.judgements.begin(), table.judgements.end(),
                                       [&](const auto& any) { return has_part(any, row); });
    if (judged.tells_unjudged || has_part(judged, row) || (has_none && judgement == 0))
      shown.push_back(&judged.rows[row]);
  }
  return shown;
}

/// Leaves those with the largest errors if there are many.
void keep_worst(const JudgedTable& judged, std::vector<const ReproducedRow*>& rows) {
  constexpr std::size_t most = 40, worst = 12;
  if (rows.size() <= most) return;
  const auto size = [&](const ReproducedRow& row) {
    const bool counts = row.judged || (judged.tells_unjudged && std::isfinite(row.error));
    return counts ? std::abs(row.error) : 0;
  };
  std::stable_sort(rows.begin(), rows.end(),
                   [&](const auto* a, const auto* b) { return size(*a) > size(*b); });
  rows.resize(worst);
}

std::string judgement_text(const Paper& paper, const PaperTable& table, std::size_t number,
                           const ReproducedTable& reproduced) {
  const Judgement& judgement = table.judgements[number];
  const JudgedTable& judged = reproduced.judgements[number];
  std::string text = fmt::format("\n{}\n", judgement.name);
  if (judgement.fit) {
    text += meanings(paper, judgement, "  ");
    for (const FoundConstants& found : judged.constants) {
      text += fmt::format("  {}\n", constants_text(paper, judgement, found));
    }
  }
  std::vector<Cells> cells{heads_of(table)};
  auto rows = rows_with(reproduced, number);
  const std::size_t all = rows.size();
  keep_worst(judged, rows);
  for (const ReproducedRow* row : rows) cells.push_back(cells_of(*row));
  text += aligned(cells, {cells.front().size() - 1});
  if (rows.size() < all) {
    text += fmt::format("({} less far off left out; -o and --json have all)\n",
                        counted(all - rows.size(), "row"));
  }
  return text + verdict_of(judgement, judged) + "\n";
}

std::string title_of(const PaperTable& table) {
  return fmt::format("{}: {}{}", table.name, table.is,
                     table.unit.empty() ? "" : ", in " + table.unit);
}

std::string markdown_row(const Cells& cells) {
  return fmt::format("| {} |\n", fmt::join(cells, " | "));
}

std::string judgement_markdown(const Paper& paper, const PaperTable& table, std::size_t number,
                               const ReproducedTable& reproduced) {
  const Judgement& judgement = table.judgements[number];
  const JudgedTable& judged = reproduced.judgements[number];
  std::string text = fmt::format("\n### {}\n\n", judgement.name);
  if (judgement.fit) {
    text += meanings(paper, judgement, "- ") + "\n";
    for (const FoundConstants& found : judged.constants) {
      text += fmt::format("- {}\n", constants_text(paper, judgement, found));
    }
    text += "\n";
  }
  const Cells heads = heads_of(table);
  text += markdown_row(heads) + markdown_row(Cells(heads.size(), "---"));
  for (const ReproducedRow* row : rows_with(reproduced, number))
    text += markdown_row(cells_of(*row));
  return text + "\n" + verdict_of(judgement, judged) + "\n";
}

ordered_json constants_json(const FoundConstants& found) {
  ordered_json values;
  for (const auto& [name, value] : found.values) values[name] = value;
  return {
      {"apart", found.apart}, {"values", values}, {"misfit", found.misfit}, {"rows", found.rows}};
}

ordered_json totals_json(const ErrorTotals& totals) {
  return {{"rows", totals.rows},
          {"mean_error", totals.mean},
          {"bias", totals.bias},
          {"worst_error", totals.worst}};
}

ordered_json row_json(const ReproducedRow& row) {
  ordered_json document{{"row", row.label},           {"published", row.published},
                        {"simulated", row.simulated}, {"error", row.error},
                        {"judged", row.judged},       {"fitted", row.fitted}};
  if (row.anchor) document["anchor"] = true;
  if (row.predicted) document["predicted"] = true;
  if (!row.shown.empty()) document["shown"] = row.shown;
  if (!row.finding.empty()) document["finding"] = row.finding;
  return document;
}

ordered_json judgement_json(const JudgedTable& judged, const Judgement& judgement) {
  // No row was judged by the target.
  const bool open = judged.judged.rows == 0 && !target_of(judgement).empty();
  ordered_json document{{"name", judged.name},
                        {"met", open ? ordered_json() : ordered_json(judged.met)},
                        {"judged", judged.judged.rows},
                        {"mean_error", judged.judged.mean},
                        {"bias", judged.judged.bias},
                        {"worst_error", judged.judged.worst},
                        {"unjudged", totals_json(judged.unjudged)}};
  if (judgement.each) document["each"] = *judgement.each;
  if (judged.ranking) {
    document["ranking"] = *judged.ranking;
    document["pairs"] = judged.ranked_pairs;
    document["pairs_in_order"] = judged.pairs_in_order;
  }
  document["constants"] = list_json(judged.constants, constants_json);
  document["rows"] = list_json(judged.rows, row_json);
  return document;
}

}  // namespace

std::string reproduction_text(const Paper& paper, const Reproduction& reproduction) {
  std::string text = fmt::format("{}\n{}\n", paper.title, paper.source);
  for (const std::string& note : paper.notes) text += note + "\n";
  for (std::size_t t = 0; t < paper.tables.size(); ++t) {
    const PaperTable& table = paper.tables[t];
    const auto& judgements = reproduction.tables[t].judgements;
    if (judgements.empty()) continue;
    text += fmt::format("\n{}\n", title_of(table));
    if (!table.note.empty()) text += table.note + "\n";
    for (std::size_t j = 0; j < judgements.size(); ++j) {
      text += judgement_text(paper, table, j, reproduction.tables[t]);
    }
  }
  return text;
}

std::string reproduction_markdown(const Paper& paper, const Reproduction& reproduction) {
  std::string text = fmt::format("# {}\n\n{}\n", paper.title, paper.source);
  for (const std::string& note : paper.notes) text += fmt::format("\n{}\n", note);
  for (std::size_t t = 0; t < paper.tables.size(); ++t) {
    const PaperTable& table = paper.tables[t];
    const auto& judgements = reproduction.tables[t].judgements;
    if (judgements.empty()) continue;
    text += fmt::format("\n## {}\n", title_of(table));
    if (!table.note.empty()) text += fmt::format("\n{}\n", table.note);
    for (std::size_t j = 0; j < judgements.size(); ++j) {
      text += judgement_markdown(paper, table, j, reproduction.tables[t]);
    }
  }
  return text;
}

std::vector<std::string> summary_heads() {
  return {"paper", "table", "judged", "rows", "mean error", "worst", "target", "met"};
}

std::vector<std::vector<std::string>> summary_rows(const std::string& name, const Paper& paper,
                                                   const Reproduction& reproduction) {
  std::vector<Cells> rows;
  for (std::size_t t = 0; t < paper.tables.size(); ++t) {
    const auto& judgements = reproduction.tables[t].judgements;
    for (std::size_t j = 0; j < judgements.size(); ++j) {
      const JudgedTable& judged = judgements[j];
      const std::string target = target_of(paper.tables[t].judgements[j]);
      const bool open = target.empty() || judged.judged.rows == 0;
      rows.push_back({name, paper.tables[t].name, judged.name,
                      fmt::format("{}", judged.judged.rows), percent_text(judged.judged.mean),
                      signed_percent_text(judged.judged.worst), target.empty() ? "-" : target,
                      open         ? "-"
                      : judged.met ? "yes"
                                   : "no"});
    }
  }
  return rows;
}

ordered_json reproduction_json(const Paper& paper, const Reproduction& reproduction) {
  ordered_json document{{"comment", own_mark},
                        {"penstock", 1},
                        {"title", paper.title},
                        {"source", paper.source},
                        {"met", reproduction.met()}};
  document["tables"] = ordered_json::array();
  for (std::size_t t = 0; t < paper.tables.size(); ++t) {
    ordered_json table{{"name", paper.tables[t].name}, {"unit", paper.tables[t].unit}};
    table["judgements"] = ordered_json::array();
    const auto& judgements = reproduction.tables[t].judgements;
    for (std::size_t j = 0; j < judgements.size(); ++j) {
      table["judgements"].push_back(judgement_json(judgements[j], paper.tables[t].judgements[j]));
    }
    document["tables"].push_back(std::move(table));
  }
  return document;
}

}  // namespace penstock
