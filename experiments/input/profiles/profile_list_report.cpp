#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "experiments/input/files/json_output.hpp"
#include "experiments/input/files/plain_text.hpp"
#include "experiments/input/files/table.hpp"
#include "experiments/input/profiles/profile_report.hpp"
#include "experiments/input/profiles/profile_standing.hpp"
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
  return {{"penstock", 1},      {"store", judged.source}, {"rows", judged.rows.size()},
          {"kernels", kernels}, {"environments", places}, {"unreadable", unreadable_json(judged)}};
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

}  // namespace penstock
