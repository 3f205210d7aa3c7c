#include <nlohmann/json.hpp>

#include "experiments/measure/reproduction/report.hpp"

namespace penstock {
namespace {

using nlohmann::ordered_json;

ordered_json json_of(const FoundConstants& found) {
  ordered_json values;
  for (const auto& [name, value] : found.values) values[name] = value;
  return {
      {"apart", found.apart}, {"values", values}, {"misfit", found.misfit}, {"rows", found.rows}};
}

ordered_json json_of(const ErrorTotals& totals) {
  return {{"rows", totals.rows},
          {"mean_error", totals.mean},
          {"bias", totals.bias},
          {"worst_error", totals.worst}};
}

ordered_json json_of(const ReproducedRow& row) {
  ordered_json document{{"row", row.label},           {"published", row.published},
                        {"simulated", row.simulated}, {"error", row.error},
                        {"judged", row.judged},       {"fitted", row.fitted}};
  if (row.anchor) document["anchor"] = true;
  if (row.predicted) document["predicted"] = true;
  if (!row.shown.empty()) document["shown"] = row.shown;
  if (!row.finding.empty()) document["finding"] = row.finding;
  return document;
}

ordered_json json_of(const JudgedTable& judged) {
  ordered_json document{{"name", judged.name},
                        {"met", judged.met},
                        {"judged", judged.judged.rows},
                        {"mean_error", judged.judged.mean},
                        {"bias", judged.judged.bias},
                        {"worst_error", judged.judged.worst},
                        {"unjudged", json_of(judged.unjudged)}};
  if (judged.ranking) {
    document["ranking"] = *judged.ranking;
    document["pairs"] = judged.ranked_pairs;
    document["pairs_in_order"] = judged.pairs_in_order;
  }
  document["constants"] = ordered_json::array();
  for (const FoundConstants& found : judged.constants)
    document["constants"].push_back(json_of(found));
  document["rows"] = ordered_json::array();
  for (const ReproducedRow& row : judged.rows) document["rows"].push_back(json_of(row));
  return document;
}

}  // namespace

ordered_json reproduction_json(const Paper& paper, const Reproduction& reproduction) {
  ordered_json document{{"penstock", 1},
                        {"title", paper.title},
                        {"source", paper.source},
                        {"met", reproduction.met()}};
  document["tables"] = ordered_json::array();
  for (std::size_t t = 0; t < paper.tables.size(); ++t) {
    ordered_json table{{"name", paper.tables[t].name}, {"unit", paper.tables[t].unit}};
    table["judgements"] = ordered_json::array();
    for (const JudgedTable& judged : reproduction.tables[t].judgements) {
      table["judgements"].push_back(json_of(judged));
    }
    document["tables"].push_back(std::move(table));
  }
  return document;
}

}  // namespace penstock
