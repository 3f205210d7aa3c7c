#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "experiments/files/json_output.hpp"
#include "experiments/files/table.hpp"
#include "experiments/validation/schedule_ranking.hpp"

namespace penstock {
namespace {

ordered_json schedule_json(const RankedSchedule& one) {
  if (!one.left_out.empty()) {
    return ordered_json::object({{"schedule", one.name}, {"left_out", one.left_out}});
  }
  ordered_json all = validation_json(one.validation);
  all.erase("penstock");
  ordered_json result{{"schedule", one.name},
                      {"scenario_simulated_us", one.simulated_us},
                      {"scenario_measured_us", one.measured_us}};
  result.update(all);
  return result;
}

std::vector<std::string> row_of(const RankedSchedule& one) {
  const RunErrors& errors = one.validation.errors;
  return {one.name,
          number_text(one.measured_us),
          number_text(one.simulated_us),
          percent_text(errors.structure),
          percent_text(errors.profile),
          percent_text(errors.retest),
          std::string(name(one.validation.verdict))};
}

std::string choice_text(const ScheduleRanking& ranking) {
  const std::string& best = ranking.schedules.front().name;
  std::string text = ranking.regret > 0
                         ? fmt::format("the quickest by simulation takes {} longer than {}",
                                       percent_text(ranking.regret), best)
                         : fmt::format("the quickest by simulation is the quickest: {}", best);
  if (!ranking.correlation) return text + "\n";
  return fmt::format("Kendall's tau-b of {} schedules: {}; {}\n", ranking.ran,
                     number_text(*ranking.correlation), text);
}

}  // namespace

ordered_json ranking_json(const ScheduleRanking& ranking) {
  ordered_json schedules = ordered_json::array();
  for (const RankedSchedule& one : ranking.schedules) schedules.push_back(schedule_json(one));
  return {{"penstock", 1},
          {"backend", ranking.backend},
          {"verdict", name(ranking.verdict)},
          {"rank_correlation",
           ranking.correlation ? ordered_json(*ranking.correlation) : ordered_json()},
          {"regret", ranking.ran > 0 ? ordered_json(ranking.regret) : ordered_json()},
          {"schedules", std::move(schedules)}};
}

std::string ranking_text(const ScheduleRanking& ranking) {
  std::vector<std::vector<std::string>> rows{
      {"schedule", "measured us", "simulated us", "structure", "profile", "retest", "verdict"}};
  for (std::size_t i = 0; i < ranking.ran; ++i) rows.push_back(row_of(ranking.schedules[i]));
  std::string text = fmt::format("on {}, in the scenario's own time\n", ranking.backend);
  if (ranking.ran > 0) text += aligned(rows, {0, 6}) + "\n" + choice_text(ranking);
  for (std::size_t i = ranking.ran; i < ranking.schedules.size(); ++i) {
    text +=
        fmt::format("left out: {}: {}\n", ranking.schedules[i].name, ranking.schedules[i].left_out);
  }
  return text + fmt::format("verdict: {}\n", name(ranking.verdict));
}

}  // namespace penstock
