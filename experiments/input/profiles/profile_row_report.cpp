#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "experiments/input/files/json_output.hpp"
#include "experiments/input/files/plain_text.hpp"
#include "experiments/input/files/table.hpp"
#include "experiments/input/profiles/profile_report.hpp"
#include "experiments/input/profiles/profile_standing.hpp"

namespace penstock {
namespace {

std::size_t place_of(const JudgedRows& judged, RowId id) {
  const auto found = std::find_if(judged.rows.begin(), judged.rows.end(),
                                  [&](const StoredRow& row) { return row.id == id; });
  return static_cast<std::size_t>(found - judged.rows.begin());
}

std::string ns_text(double ns) {
  if (ns < 1e3) return number_text(ns) + " ns";
  if (ns < 1e6) return number_text(ns / 1e3) + " µs";
  return ns < 1e9 ? number_text(ns / 1e6) + " ms" : number_text(ns / 1e9) + " s";
}

/// A histogram of samples as one line of characters, from smallest to largest.
std::string histogram(const std::vector<double>& samples) {
  constexpr std::size_t bins = 32;
  constexpr std::string_view marks = " .:-=+*#";
  const auto [least, most] = std::minmax_element(samples.begin(), samples.end());
  const double width = *most - *least;
  std::array<std::size_t, bins> counts{};
  for (const double sample : samples) {
    const double place = width > 0 ? (sample - *least) / width * bins : 0;
    ++counts[std::min(bins - 1, static_cast<std::size_t>(place))];
  }
  const std::size_t highest = *std::max_element(counts.begin(), counts.end());
  std::string line;
  for (const std::size_t count : counts) {
    line += marks[(count * (marks.size() - 1) + highest - 1) / highest];
  }
  return "|" + line + "|";
}

}  // namespace

ordered_json profile_row_json(const JudgedRows& judged, RowId id,
                              const std::vector<RowVerdict>& verdicts) {
  const std::size_t place = place_of(judged, id);
  const StoredRow& stored = judged.rows[place];
  ordered_json object{{"penstock", 1}, {"store", judged.source}};
  object["row"] = judgement_json(stored, judged.judgements[place]);
  object["row"]["build"] = stored.row.build;
  object["row"]["origin"] = stored.origin ? ordered_json(index(*stored.origin)) : ordered_json();
  object["row"]["facts"] = stored.row.environment;
  object["row"]["canary_ns"] = stored.row.canary_ns;
  object["row"]["median_ns"] = median_ns(stored.row);
  object["row"]["spread"] = spread_of(stored.row);
  object["row"]["samples_ns"] = stored.row.samples_ns;
  object["verdicts"] = ordered_json::array();
  for (const RowVerdict& verdict : verdicts) {
    object["verdicts"].push_back(
        {{"at", verdict.at}, {"state", name(verdict.state)}, {"why", verdict.why}});
  }
  return object;
}

std::string profile_row_text(const JudgedRows& judged, RowId id,
                             const std::vector<RowVerdict>& verdicts) {
  const std::size_t place = place_of(judged, id);
  const StoredRow& stored = judged.rows[place];
  const RowJudgement& judgement = judged.judgements[place];
  const ProfileRow& row = stored.row;
  const auto [least, most] = std::minmax_element(row.samples_ns.begin(), row.samples_ns.end());
  std::string text = fmt::format("row {}: {}\n", index(id), standing_of(judgement));
  const auto line = [&](std::string_view what, const std::string& value) {
    text += fmt::format("  {:<12}{}\n", what, value.empty() ? "-" : value);
  };
  line("kernel", row.point.kernel);
  line("pass", row.point.pass);
  line("shape", row.point.shape);
  line("condition", row.point.condition);
  line("build", row.build);
  line("measured at", row.measured_at);
  if (stored.origin) line("copied from", fmt::format("row {}", index(*stored.origin)));
  if (judgement.superseded_by)
    line("replaced by", fmt::format("row {}", index(*judgement.superseded_by)));
  line("canary", row.canary_ns > 0 ? ns_text(row.canary_ns) : "not known");
  line("samples", fmt::format("{}: median {}, from {} to {}, half within {}", row.samples_ns.size(),
                              ns_text(median_ns(row)), ns_text(*least), ns_text(*most),
                              percent_text(spread_of(row))));
  line("", histogram(row.samples_ns));
  for (const std::string& reason : judgement.reasons) line("reason", reason);
  text += fmt::format("\nenvironment {}{}\n", stored.environment,
                      judgement.elsewhere ? ", of another machine" : "");
  for (const auto& [key, value] : row.environment) line(key, value);
  text += "\nverdicts\n";
  for (const RowVerdict& verdict : verdicts) {
    text += fmt::format("  {}  {:<7}  {}\n", verdict.at, name(verdict.state), verdict.why);
  }
  return valid_text(text);
}

}  // namespace penstock
