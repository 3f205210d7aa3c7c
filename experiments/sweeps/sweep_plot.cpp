#include "experiments/sweeps/sweep_plot.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <utility>

#include "sim/base/error.hpp"

namespace penstock {
namespace {

using nlohmann::ordered_json;

/// A text without its quotes, any other value as JSON.
std::string short_text(const ordered_json& value) {
  return value.is_string() ? value.get<std::string>() : value.dump();
}

std::string last_step(const std::string& pointer) { return pointer.substr(pointer.rfind('/') + 1); }

/// The values of each pointer, in the order of the rows' configurations.
std::vector<std::pair<std::string, std::set<ordered_json>>> values_by_pointer(
    const std::vector<ordered_json>& rows) {
  std::vector<std::pair<std::string, std::set<ordered_json>>> all;
  for (const auto& [pointer, value] : rows.front()["configuration"].items()) {
    all.emplace_back(pointer, std::set<ordered_json>{});
  }
  for (const ordered_json& row : rows) {
    for (auto& [pointer, values] : all)
      values.insert(row["configuration"].value(pointer, ordered_json()));
  }
  return all;
}

/// The pointer with the most different numbers.
std::string abscissa(const std::vector<std::pair<std::string, std::set<ordered_json>>>& all) {
  const std::pair<std::string, std::set<ordered_json>>* best = nullptr;
  for (const auto& one : all) {
    const bool numbers =
        std::all_of(one.second.begin(), one.second.end(),
                    [](const ordered_json& v) { return v.is_number() && v.get<double>() > 0; });
    if (numbers && (best == nullptr || one.second.size() > best->second.size())) best = &one;
  }
  if (best == nullptr) throw InputError("no pointer varies in numbers above 0");
  return best->first;
}

/// "1f1b, pipeline 8": the values of a row that others share with it.
std::string series_name(const ordered_json& row, const std::string& x,
                        const std::vector<std::pair<std::string, std::set<ordered_json>>>& all) {
  std::string name;
  for (const auto& [pointer, values] : all) {
    if (pointer == x || values.size() < 2) continue;
    const ordered_json& value = row["configuration"][pointer];
    name += fmt::format("{}{}{}", name.empty() ? "" : ", ",
                        value.is_string() ? "" : last_step(pointer) + " ", short_text(value));
  }
  return name.empty() ? "bubble" : name;
}

}  // namespace

BubblePlot plot_of_rows(const std::vector<std::string>& texts, const std::string& title) {
  std::vector<ordered_json> rows;
  for (const std::string& text : texts) rows.push_back(ordered_json::parse(text));
  if (rows.empty()) throw InputError("there are no rows to draw");
  const auto all = values_by_pointer(rows);
  const std::string x = abscissa(all);
  BubblePlot plot{.title = title, .x_label = last_step(x), .y_label = "idle share of the makespan"};
  std::map<std::string, std::size_t> known;
  bool any = false;
  for (const ordered_json& row : rows) {
    const std::string name = series_name(row, x, all);
    const auto [place, is_new] = known.emplace(name, plot.series.size());
    if (is_new) plot.series.push_back({.name = name});
    BubbleSeries& series = plot.series[place->second];
    const double at = row["configuration"][x].get<double>();
    if (row.contains("result")) {
      any = true;
      series.simulated.emplace_back(at, row["result"]["bubble"]["of_makespan"].get<double>());
    } else {
      series.missing.emplace_back(at, row["findings"][0]["text"].get<std::string>());
    }
  }
  if (!any) throw InputError("no configuration has a result to draw");
  for (BubbleSeries& series : plot.series)
    std::sort(series.simulated.begin(), series.simulated.end());
  return plot;
}

}  // namespace penstock
