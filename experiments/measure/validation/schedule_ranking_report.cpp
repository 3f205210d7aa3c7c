#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "experiments/input/files/json_output.hpp"
#include "experiments/input/files/table.hpp"
#include "experiments/measure/validation/schedule_ranking.hpp"
#include "validate/statistics/summary.hpp"

namespace penstock {
namespace {

ordered_json schedule_json(const RankedSchedule& one) {
  if (!one.left_out.empty() && one.validation.measured.tried == 0) {
    return ordered_json::object({{"schedule", one.name}, {"left_out", one.left_out}});
  }
  ordered_json all = validation_json(one.validation);
  all.erase("penstock");
  ordered_json result{{"schedule", one.name},
                      {"scenario_simulated_us", one.simulated_us},
                      {"scenario_measured_us", one.measured_us}};
  if (!one.left_out.empty()) result["left_out"] = one.left_out;
  result.update(all);
  return result;
}

TableRow row_of(const RankedSchedule& one) {
  const RunErrors& errors = one.validation.errors;
  const bool scored = one.validation.why_no_score.empty();
  const auto error_text = [&](double error) { return scored ? percent_text(error) : "-"; };
  return {one.name,
          number_text(one.measured_us),
          number_text(one.simulated_us),
          error_text(errors.structure),
          error_text(errors.profile),
          error_text(errors.retest),
          error_text(errors.spread),
          std::string(name(one.validation.verdict))};
}

std::string errors_text(const ScheduleRanking& ranking) {
  if (!ranking.why_no_score.empty()) {
    return fmt::format("no errors are reported: {}\n", ranking.why_no_score);
  }
  return fmt::format(
      "simulated against measured: mean error {}, worst {}; {} of {} pairs over 5 % apart are in "
      "order\nmeasured against itself, half against half: mean {}, worst {}\n",
      percent_text(ranking.errors.mean), percent_text(ranking.errors.most), ranking.pairs_right,
      ranking.pairs_apart, percent_text(ranking.retests.mean), percent_text(ranking.retests.most));
}

/// Of runs in PyTorch, which all share a machine.
std::string machine_text(const ScheduleRanking& ranking) {
  const auto& torch = ranking.schedules.front().validation.torch;
  if (!torch) return "";
  std::vector<double> others;
  double gradient_error = 0;
  std::size_t steps = 0;
  std::size_t quiet = 0;
  for (std::size_t i = 0; i < ranking.ran; ++i) {
    const TorchNote& one = *ranking.schedules[i].validation.torch;
    steps += one.steps;
    quiet += quiet_steps(ranking.schedules[i].validation);
    others.push_back(one.others);
    gradient_error = std::max(gradient_error, one.gradient_error);
  }
  return fmt::format(
      "PyTorch {} on {}; others used {} of the cores, load {:.1f}; {} of {} timed steps were "
      "quiet, "
      "{:.0f} s spent on that{}\n"
      "loss and gradients are those of one process within {:.1e}\n",
      torch->version, torch->device, percent_text(median(std::move(others))), torch->load, quiet,
      steps, torch->waited_s, torch->gave_up ? ", in vain" : "", gradient_error);
}

std::string choice_text(const ScheduleRanking& ranking) {
  if (!ranking.why_no_score.empty()) return "";
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

std::string why_inconclusive(const ScheduleRanking& ranking) {
  if (!ranking.why_no_score.empty()) return ranking.why_no_score;
  std::vector<std::string> reasons;
  for (const RankedSchedule& one : ranking.schedules) {
    const std::string& why = one.validation.why_no_score;
    if (!why.empty()) reasons.push_back(fmt::format("{}: {}", one.name, why));
  }
  return reasons.empty() ? "this machine is too noisy"
                         : fmt::format("{}", fmt::join(reasons, "; "));
}

ordered_json ranking_json(const ScheduleRanking& ranking) {
  const auto known = [&](double value) {
    return ranking.ran > 0 && ranking.why_no_score.empty() ? ordered_json(value) : ordered_json();
  };
  return {{"penstock", 1},
          {"backend", ranking.backend},
          {"verdict", name(ranking.verdict)},
          {"rank_correlation", or_null(ranking.correlation)},
          {"mean_error", known(ranking.errors.mean)},
          {"worst_error", known(ranking.errors.most)},
          {"mean_retest_error", known(ranking.retests.mean)},
          {"worst_retest_error", known(ranking.retests.most)},
          {"pairs_apart", ranking.pairs_apart},
          {"pairs_in_order", ranking.pairs_right},
          {"regret", known(ranking.regret)},
          {"why_no_score", ranking.why_no_score},
          {"interrupted", ranking.stopped > 0},
          {"schedules", list_json(ranking.schedules, schedule_json)}};
}

std::string ranking_text(const ScheduleRanking& ranking) {
  TableRows rows{{"schedule", "measured µs", "simulated µs", "structure", "profile", "retest",
                  "spread", "verdict"}};
  for (std::size_t i = 0; i < ranking.ran; ++i) rows.push_back(row_of(ranking.schedules[i]));
  const bool own_links =
      ranking.ran > 0 && has_links_of_machine(ranking.schedules.front().validation);
  std::string text = fmt::format("on {}, in the scenario's own time{}\n", ranking.backend,
                                 own_links ? "; links are those of this machine" : "");
  if (ranking.ran > 0)
    text += aligned(rows, {0, 7}) + "\n" + errors_text(ranking) + choice_text(ranking) +
            machine_text(ranking);
  for (std::size_t i = ranking.ran; i < ranking.schedules.size(); ++i) {
    text +=
        fmt::format("left out: {}: {}\n", ranking.schedules[i].name, ranking.schedules[i].left_out);
  }
  return text + fmt::format("verdict: {}\n", name(ranking.verdict));
}

}  // namespace penstock
