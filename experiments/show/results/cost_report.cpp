#include "experiments/show/results/cost_report.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "experiments/input/files/json_output.hpp"

namespace penstock {
namespace {

/// "71.3 (-2.4)".
std::string cell(double value, const double* other) {
  if (other == nullptr) return number_text(value);
  const double more = value - *other;
  return fmt::format("{} ({}{})", number_text(value), more < 0 ? "" : "+", number_text(more));
}

const double* value_of(const std::optional<double>& value) { return value ? &*value : nullptr; }

}  // namespace

std::string cost_text(const TrainingCost& cost) {
  std::string text = fmt::format("{:.4g} {}: {} days", cost.tokens,
                                 cost.are_examples ? "examples" : "tokens", number_text(cost.days));
  if (cost.cost) text += fmt::format(", cost {} (in the unit of --price)", number_text(*cost.cost));
  if (!cost.energy_mwh) return text;
  return text +
         fmt::format(", {} MWh (devices alone, at full power)", number_text(*cost.energy_mwh));
}

TableRow cost_heads(const TrainingCost& cost) {
  TableRow heads{"days"};
  if (cost.cost) heads.emplace_back("cost");
  if (cost.energy_mwh) heads.emplace_back("MWh");
  return heads;
}

TableRow cost_cells(const TrainingCost& cost, const TrainingCost* other) {
  const bool differs = other != nullptr;
  TableRow cells{cell(cost.days, differs ? &other->days : nullptr)};
  if (cost.cost) cells.push_back(cell(*cost.cost, differs ? value_of(other->cost) : nullptr));
  if (cost.energy_mwh) {
    cells.push_back(cell(*cost.energy_mwh, differs ? value_of(other->energy_mwh) : nullptr));
  }
  return cells;
}

ordered_json cost_json(const TrainingCost& cost, const TrainingCost* other) {
  ordered_json document{{cost.are_examples ? "examples" : "tokens", cost.tokens},
                        {"days", cost.days},
                        {"cost", or_null(cost.cost)},
                        {"energy_mwh", or_null(cost.energy_mwh)}};
  if (other == nullptr) return document;
  document["days_more"] = cost.days - other->days;
  if (cost.cost && other->cost) document["cost_more"] = *cost.cost - *other->cost;
  if (cost.energy_mwh && other->energy_mwh) {
    document["energy_mwh_more"] = *cost.energy_mwh - *other->energy_mwh;
  }
  return document;
}

}  // namespace penstock
