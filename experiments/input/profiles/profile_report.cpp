#include "experiments/input/profiles/profile_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "experiments/input/files/json_output.hpp"
#include "experiments/input/files/plain_text.hpp"
#include "experiments/input/files/table.hpp"
#include "experiments/input/profiles/profile_standing.hpp"
#include "validate/statistics/summary.hpp"
#include "validate/store/environment_keys.hpp"

namespace penstock {
namespace {

/// Rows and environments of a kernel and pass.
struct KernelSummary {
  std::map<std::string_view, std::size_t> rows;  // by standing
  std::set<std::int64_t> environments;
  std::string newest;
};

std::map<std::pair<std::string, std::string>, KernelSummary> summaries(const JudgedRows& judged) {
  std::map<std::pair<std::string, std::string>, KernelSummary> all;
  for (std::size_t i = 0; i < judged.rows.size(); ++i) {
    const StoredRow& stored = judged.rows[i];
    KernelSummary& summary = all[{stored.row.point.kernel, stored.row.point.pass}];
    ++summary.rows[standing_of(judged.judgements[i])];
    summary.environments.insert(stored.environment);
    summary.newest = std::max(summary.newest, stored.row.measured_at);
  }
  return all;
}

struct EnvironmentSummary {
  std::size_t rows = 0;
  bool here = false;
  const std::map<std::string, std::string>* facts = nullptr;
};

std::map<std::int64_t, EnvironmentSummary> environments(const JudgedRows& judged) {
  std::map<std::int64_t, EnvironmentSummary> all;
  for (std::size_t i = 0; i < judged.rows.size(); ++i) {
    EnvironmentSummary& summary = all[judged.rows[i].environment];
    ++summary.rows;
    summary.here = !judged.judgements[i].elsewhere;
    summary.facts = &judged.rows[i].row.environment;
  }
  return all;
}

std::size_t count_of(const KernelSummary& summary, std::string_view standing) {
  const auto found = summary.rows.find(standing);
  return found == summary.rows.end() ? 0 : found->second;
}

std::size_t place_of(const JudgedRows& judged, RowId id) {
  const auto found = std::ranges::find(judged.rows, id, &StoredRow::id);
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
  const std::size_t highest = *std::ranges::max_element(counts);
  std::string line;
  for (const std::size_t count : counts) {
    line += marks[(count * (marks.size() - 1) + highest - 1) / highest];
  }
  return "|" + line + "|";
}

std::int64_t number_of(RowId id) { return index(id); }

/// The rows of a check that were not measured again, by their key and in words.
struct OtherRows {
  const char* key;
  const char* text;
  std::vector<RowId> SpotCheck::*ids;
};
constexpr std::array<OtherRows, 5> other_rows{
    {{"retired_with_group", "retired with their group", &SpotCheck::retired_with_group},
     {"taken_over", "copied from before the update, as rows", &SpotCheck::taken_over},
     {"cannot_be_measured", "cannot be measured here", &SpotCheck::cannot_be_measured},
     {"not_quiet", "unchanged, since the machine was not quiet", &SpotCheck::not_quiet},
     {"left", "not measured, out of time", &SpotCheck::left}}};

ordered_json spot_json(const SpotCheck& spot) {
  const auto result_json = [](const SpotResult& result) {
    return ordered_json{{"id", index(result.id)},
                        {"holds", result.holds},
                        {"change", result.change},
                        {"again", or_null(result.again, number_of)}};
  };
  ordered_json all{{"measured", list_json(spot.measured, result_json)}};
  for (const OtherRows& rows : other_rows) all[rows.key] = list_json(spot.*rows.ids, number_of);
  return all;
}

std::string spot_text(const SpotCheck& spot) {
  std::string text = "\nmeasured again\n";
  for (const SpotResult& result : spot.measured) {
    text += fmt::format("  row {}: {}, {}\n", index(result.id), signed_percent_text(result.change),
                        result.holds ? "still valid" : "retired");
  }
  if (spot.measured.empty()) text += "  nothing\n";
  for (const OtherRows& rows : other_rows) {
    const std::string ids =
        joined(spot.*rows.ids, [](RowId id) { return fmt::format("{}", index(id)); });
    if (!ids.empty()) text += fmt::format("  {}: {}\n", rows.text, ids);
  }
  return text;
}

}  // namespace

ordered_json profile_list_json(const JudgedRows& judged) {
  ordered_json kernels = ordered_json::array();
  for (const auto& [key, summary] : summaries(judged)) {
    ordered_json object{{"kernel", key.first}, {"pass", key.second}};
    for (const std::string_view standing : standings) {
      object[std::string(standing)] = count_of(summary, standing);
    }
    object["environments"] = summary.environments;
    object["newest"] = summary.newest;
    kernels.push_back(std::move(object));
  }
  ordered_json places = ordered_json::array();
  for (const auto& [number, summary] : environments(judged)) {
    places.push_back({{"id", number},
                      {"rows", summary.rows},
                      {"of_this_machine", summary.here},
                      {"facts", *summary.facts}});
  }
  return {{"penstock", 1},
          {"store", judged.source},
          {"rows", judged.rows.size()},
          {"kernels", kernels},
          {"environments", places},
          {"unreadable", unreadable_json(judged.unreadable)}};
}

std::string profile_list_text(const JudgedRows& judged) {
  if (judged.rows.empty()) return "no rows\n" + unreadable_text(judged);
  std::vector<std::vector<std::string>> kernels{
      {"kernel", "pass", "valid", "suspect", "retired", "unfit", "past", "environments", "newest"}};
  for (const auto& [key, summary] : summaries(judged)) {
    std::vector<std::string> line{key.first, key.second};
    for (const std::string_view standing : standings) {
      line.push_back(fmt::format("{}", count_of(summary, standing)));
    }
    line.push_back(fmt::format("{}", fmt::join(summary.environments, " ")));
    line.push_back(summary.newest);
    kernels.push_back(std::move(line));
  }
  std::vector<std::vector<std::string>> places{{"environment", "rows", "here", "what"}};
  for (const auto& [number, summary] : environments(judged)) {
    places.push_back({fmt::format("{}", number), fmt::format("{}", summary.rows),
                      summary.here ? "yes" : "no", environment_title(*summary.facts)});
  }
  return valid_text(aligned(kernels, {0, 1, 7, 8}) + "\n" + aligned(places, {2, 3})) +
         unreadable_text(judged);
}

ordered_json profile_row_json(const JudgedRows& judged, RowId id,
                              const std::vector<RowVerdict>& verdicts) {
  const std::size_t place = place_of(judged, id);
  const StoredRow& stored = judged.rows[place];
  ordered_json object{{"penstock", 1}, {"store", judged.source}};
  object["row"] = judgement_json(stored, judged.judgements[place]);
  object["row"]["build"] = stored.row.build;
  object["row"]["origin"] = or_null(stored.origin, number_of);
  object["row"]["facts"] = stored.row.environment;
  object["row"]["canary_ns"] = stored.row.canary_ns;
  const SampleSpread spread = spread_of(stored.row.samples_ns);
  object["row"]["median_ns"] = spread.median;
  object["row"]["spread"] = spread.deviation;
  object["row"]["samples_ns"] = stored.row.samples_ns;
  object["verdicts"] = list_json(verdicts, [](const RowVerdict& verdict) {
    return ordered_json{{"at", verdict.at}, {"state", name(verdict.state)}, {"why", verdict.why}};
  });
  return object;
}

std::string profile_row_text(const JudgedRows& judged, RowId id,
                             const std::vector<RowVerdict>& verdicts) {
  const std::size_t place = place_of(judged, id);
  const StoredRow& stored = judged.rows[place];
  const RowJudgement& judgement = judged.judgements[place];
  const ProfileRow& row = stored.row;
  const auto [least, most] = std::minmax_element(row.samples_ns.begin(), row.samples_ns.end());
  const SampleSpread spread = spread_of(row.samples_ns);
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
                              ns_text(spread.median), ns_text(*least), ns_text(*most),
                              percent_text(spread.deviation)));
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

bool all_valid(const JudgedRows& judged) {
  return judged.unreadable.empty() && std::ranges::all_of(judged.judgements, is_sound);
}

ordered_json profile_check_json(const JudgedRows& judged, const SpotCheck* measured) {
  ordered_json document{{"penstock", 1}, {"store", judged.source}, {"rows", judged.rows.size()}};
  for (const auto& [standing, count] : counts_of(judged)) document[std::string(standing)] = count;
  ordered_json doubtful = ordered_json::array(), sound = ordered_json::array();
  for (const std::size_t i : most_doubtful_first(judged)) {
    ordered_json& rows = is_sound(judged.judgements[i]) ? sound : doubtful;
    rows.push_back(judgement_json(judged.rows[i], judged.judgements[i]));
  }
  document["not_valid"] = std::move(doubtful);
  document["sound"] = std::move(sound);
  document["unreadable"] = unreadable_json(judged.unreadable);
  if (measured != nullptr) document["spot_check"] = spot_json(*measured);
  return document;
}

std::string profile_check_text(const JudgedRows& judged, const SpotCheck* measured) {
  constexpr std::size_t most_lines = 60;
  const std::string counts = joined(counts_of(judged), [](const auto& of_standing) {
    return fmt::format("{} {}", of_standing.second, of_standing.first);
  });
  std::string text = fmt::format("{}: {}\n", counted(judged.rows.size(), "row"), counts);
  if (!judged.rows.empty()) {
    text += "\n" + rows_table(judged, most_doubtful_first(judged), most_lines);
  }
  text += unreadable_text(judged);
  if (measured != nullptr) text += spot_text(*measured);
  const std::string next = next_steps(judged);
  if (!next.empty()) text += "\n" + next;
  return valid_text(text);
}

}  // namespace penstock
