#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <nlohmann/json.hpp>
#include <variant>

#include "experiments/input/files/files.hpp"
#include "experiments/input/files/json_output.hpp"
#include "experiments/input/files/plain_text.hpp"
#include "experiments/input/files/setting.hpp"
#include "experiments/input/files/table.hpp"
#include "experiments/input/scenario/scenario.hpp"
#include "experiments/measure/causes/causes.hpp"
#include "experiments/measure/causes/replay.hpp"
#include "experiments/show/explanation/explanation.hpp"
#include "experiments/show/results/run_summary.hpp"
#include "sim/base/error.hpp"
#include "sim/engines/events.hpp"

namespace penstock {
namespace {

/// What the texts of --without take out.
class Removing {
 public:
  Removing(const Plan& plan, OpModel& model)
      : plan_(plan), model_(model), removed_(nothing_removed(plan)) {}

  void add(const std::string& text) {
    text_ = text;
    const std::size_t equals = text.find('=');
    const std::string word = text.substr(0, equals);
    if (equals != std::string::npos) return add_one(word, text.substr(equals + 1));
    if (!remove_all(word, removed_)) refuse_word();
  }
  const Removal& removed() const { return removed_; }

 private:
  [[noreturn]] void refuse(const std::string& why) const {
    throw UsageError(fmt::format("--without {}: {}", text_, why));
  }
  [[noreturn]] void refuse_word() const {
    refuse(
        "expected rank=N, link=A>B, gaps=N or stage=N, or all of a kind: ranks, links, gaps, "
        "stages, replicas, microbatches, jitter, collectives");
  }
  std::uint32_t number(const std::string& text, const char* what, std::size_t count) const {
    const auto value = whole_number<std::uint32_t>(text);
    if (!value || *value >= count) {
      refuse(fmt::format("the run has no such {}; its {}s are 0 to {}", what, what, count - 1));
    }
    return *value;
  }

  void add_one(const std::string& word, const std::string& value) {
    if (word == "rank") return add_rank(number(value, "rank", removed_.ranks.size()));
    if (word == "link") return add_link(value);
    if (word == "gaps") {
      removed_.gaps[number(value, "rank", removed_.gaps.size())] = true;
    } else if (word == "stage") {
      removed_.stages[number(value, "stage", removed_.stages.size())] = true;
    } else {
      refuse_word();
    }
  }

  /// As fast as its peers, also where it is too little slower to be called slow.
  void add_rank(std::uint32_t rank) {
    const double slower = model_.measured_rank[rank];
    if (slower <= 0) {
      refuse(fmt::format(
          "rank {} has no peers that tell how fast it should be; --expected RUN says what its "
          "stage should take, --without stage=N gives the stage the mean of all",
          rank));
    }
    model_.rank[rank] = slower;
    removed_.ranks[rank] = true;
  }

  /// "0>1" is one direction, "0-1" both.
  void add_link(const std::string& ends) {
    bool found = false;
    for (std::size_t link = 0; link < plan_.links.size(); ++link) {
      const Link& one = plan_.links[link];
      const auto joined = [&](Rank from, Rank to) {
        return fmt::format("{}-{}", end_text(from), end_text(to));
      };
      if (text(one) != ends && joined(one.from, one.to) != ends &&
          joined(one.to, one.from) != ends) {
        continue;
      }
      if (model_.measured_link[link] == 0) {
        refuse(fmt::format(
            "link {} has no peers that tell how fast it should be; --expected RUN says that",
            text(one)));
      }
      removed_.links[link] = found = true;
    }
    if (found) return;
    if (plan_.links.empty()) refuse("the run has no links");
    refuse(fmt::format("the run has no such link; its first is {}", text(plan_.links.front())));
  }

  const Plan& plan_;
  OpModel& model_;
  Removal removed_;
  std::string text_;
};

/// What --set may change in a measured run.
struct Settings {
  Chance chance;
  OverheadsSection overheads;
};

[[noreturn]] void refuse_setting(const std::string& setting, const std::string& source) {
  throw UsageError(fmt::format(
      "--set {}: {} is a timeline; it goes with a scenario, which penstock trace --scenario makes "
      "of traces. Of a timeline, /chance and /overheads/launch_us, issue_us and host_us can be set",
      setting, source));
}

/// Read and checked as in a scenario.
Settings settings_of(const std::vector<std::string>& settings, const std::string& source) {
  if (settings.empty()) return {};
  for (const std::string& setting : settings) {
    for (const SingleSetting& one : single_settings_of("--set", setting)) {
      const std::string& pointer = one.pointer;
      const bool known = pointer.starts_with("/chance/") || pointer == "/overheads/launch_us" ||
                         pointer == "/overheads/issue_us" || pointer == "/overheads/host_us";
      if (!known || pointer.starts_with("/chance/slow_machines")) {
        refuse_setting(setting, source);
      }
    }
  }
  const nlohmann::json any{{"model", {{"stages", {{{"forward_us", 1}}}}}},
                           {"schedule", {{"name", "forward-only"}, {"microbatches", 1}}}};
  const Scenario scenario = scenario_from(any, source, settings);
  for (std::size_t i = 0; i < scenario.chance.stragglers.size(); ++i) {
    if (!scenario.chance.stragglers[i].replica) continue;
    throw InputError(
        fmt::format("{}: /chance/stragglers/{}/replica: a measured run has ranks of "
                    "their own for each replica; name the rank alone",
                    source, i));
  }
  return {scenario.chance, scenario.overheads};
}

/// The costs of a run without its gaps, as settings change them; then with the gaps that are left.
void apply(const Settings& settings, const std::string& source, PricedPlan& priced) {
  auto& [plan, costs, conditions] = priced;
  try {
    costs = draw(plan, costs, settings.chance, 0);
    costs.launch = from_us(settings.overheads.launch_us);
    costs.issue = from_us(settings.overheads.issue_us);
    for (TaskId task = 0; task < plan.tasks(); ++task) {
      const WorkClass& work = plan.class_of(task);
      if (plan.is_link(work.resource) || work.follows_partner) continue;
      costs.task_duration[task] += from_us(settings.overheads.host_us);
    }
    check_clock(plan, costs, "/overheads");
  } catch (const InputError& error) {
    throw in_file(source, error);
  }
}

/// A task begins behind its gap.
void show_gaps(const Plan& plan, const std::vector<Time>& gaps, Timeline& timeline) {
  for (TaskId task = 0; task < plan.tasks(); ++task) {
    timeline.begin[task] += gaps[task];
    if (plan.class_of(task).follows_partner) timeline.begin[task] = timeline.begin[task - 1];
  }
}

}  // namespace

Counterfactual counterfactual(const Recording& run, const std::string& source,
                              const MeasuredChanges& changes, const ExpectedOps* expected) {
  const MeasuredStep step =
      measured_step(run.plan, costs_of_times(run.plan, run.timeline), run.timeline);
  OpModel model = op_model(step, expected);
  Removing removing(*step.plan, model);
  for (const std::string& text : changes.without) removing.add(text);
  Removal removed = removing.removed();
  Replay replay(step, model);
  const Time replayed = replay.step(nothing_removed(run.plan));
  std::vector<Time> gaps = step.gap;
  for (TaskId task = 0; task < run.plan.tasks(); ++task) {
    if (removed.gaps[rank_of_task(run.plan, task)]) gaps[task] = Time{};
  }
  removed.gaps = all_removed(run.plan).gaps;
  replay.step(removed);
  PricedPlan priced = replay.priced();
  apply(settings_of(changes.settings, source), source, priced);
  for (TaskId task = 0; task < run.plan.tasks(); ++task) {
    priced.costs.task_duration[task] += gaps[task];
  }
  RunOutcome outcome = simulate(priced);
  Counterfactual result{.run = {run.plan, std::get<Timeline>(std::move(outcome)), run.title},
                        .changes = changes,
                        .measured = step.makespan};
  show_gaps(run.plan, gaps, result.run.timeline);
  result.run.timeline.iteration = run.timeline.iteration;
  result.run.timeline.environment = run.timeline.environment;
  const Time unexplained = step.makespan - replayed;
  result.changed = makespan(run.plan, result.run.timeline) + unexplained;
  return result;
}

std::string changed_text(const Counterfactual& changed) {
  const TimeUnit unit = unit_for(std::max(changed.measured, changed.changed));
  const auto time = [&](Time one) { return short_time_text(one, unit); };
  const auto lines = [](const char* word, const std::vector<std::string>& texts) {
    return joined(texts, [&](const std::string& text) { return word + text; });
  };
  const std::string what = joined(std::vector{lines("without ", changed.changes.without),
                                              lines("with ", changed.changes.settings)},
                                  std::identity{});
  return fmt::format("{}: {} {} instead of {} ({}); what follows is of the changed run\n\n", what,
                     time(changed.changed), unit.name, time(changed.measured),
                     signed_percent_text(to_us(changed.changed) / to_us(changed.measured) - 1));
}

ordered_json changed_json(const Counterfactual& changed) {
  return {{"without", changed.changes.without},
          {"set", changed.changes.settings},
          {"measured_us", to_us(changed.measured)},
          {"makespan_us", to_us(changed.changed)},
          {"change_us", to_us(changed.changed - changed.measured)}};
}

}  // namespace penstock
