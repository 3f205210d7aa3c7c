#include "experiments/plan/planner/plan_answers.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>
#include <numeric>
#include <optional>

#include "experiments/input/files/json_output.hpp"
#include "experiments/input/files/table.hpp"
#include "experiments/plan/planner/plan_report.hpp"
#include "experiments/plan/planner/step_split.hpp"
#include "experiments/run/throughput.hpp"

namespace penstock {
namespace {

StepSplit split_of(const LayoutPlan& plan, const JudgedLayout& layout, const Catalogue& catalogue,
                   const std::shared_ptr<Clusters>& clusters) {
  Scenario scenario = parse_scenario(layout_document(plan.task, layout.choice), plan.task.source);
  scenario.batch.reset();  // full microbatches: parts of drawn ones would mix packings
  return split_step(scenario, catalogue, clusters);
}

/// The parts of the step of a layout and of the best.
struct BothSplits {
  StepSplit own, best;
};

BothSplits splits_of(const LayoutPlan& plan, const JudgedLayout& own, const JudgedLayout& best,
                     const Catalogue& catalogue) {
  const auto clusters = std::make_shared<Clusters>();
  return {split_of(plan, own, catalogue, clusters), split_of(plan, best, catalogue, clusters)};
}

/// The parts of both steps, and what each adds to the difference.
std::string split_text(const LayoutPlan& plan, const BothSplits& splits) {
  const auto& [mine, theirs] = splits;
  TableRows rows{{"", "its step", "the best", "difference", "of the best's step"}};
  const double whole = std::accumulate(theirs.begin(), theirs.end(), 0.0);
  const auto ms = [](double us) { return fmt::format("{:.1f} ms", us * 1e-3); };
  for (std::size_t i = 0; i < step_parts; ++i) {
    if (std::max(std::abs(mine[i]), std::abs(theirs[i])) < 0.0005 * whole) continue;
    rows.push_back({std::string(text(StepPart{static_cast<std::uint8_t>(i)})), ms(mine[i]),
                    ms(theirs[i]), ms(mine[i] - theirs[i]),
                    signed_percent_text((mine[i] - theirs[i]) / whole)});
  }
  return (plan.fastest_full ? "with full microbatches:\n" : "") + aligned(rows, {0});
}

ordered_json split_json(const StepSplit& split) {
  ordered_json json;
  for (std::size_t i = 0; i < step_parts; ++i) {
    json[std::string(text(StepPart{static_cast<std::uint8_t>(i)}))] = split[i];
  }
  return json;
}

/// What a plan without a limit of memory would take instead.
std::string forced_text(const LayoutPlan& restricted, const LayoutPlan& roomy) {
  const JudgedLayout* free = roomy.best();
  const JudgedLayout& own = *restricted.best();
  if (free == nullptr || free->trial.pace() >= own.trial.pace()) return "";
  return fmt::format("memory forces this: without its limit {} ({} faster) would need {}: {}\n",
                     step_text(*free), percent_text(slower_than(own, *free)),
                     bytes_text(free->trial.peak_bytes), text_of(free->choice));
}

/// Why the best layout of a plan is not listed, and whether there may be a better one.
std::string best_note(const LayoutPlan& plan) {
  const std::string stopped = plan.stopped ? ", search stopped early" : "";
  if (!plan.fitting.empty()) return stopped;
  return (plan.best()->trial.fits() ? ", without headroom" : ", may fit") + stopped;
}

/// The rule that excludes most of what was asked for. A dense model has no experts to divide.
std::string rule_text(const LayoutPlan& restricted) {
  for (const Exclusion& one : restricted.excluded) {
    if (restricted.task.experts == 1 && one.rule == no_such_experts) continue;
    return fmt::format("excluded most often because: {} ({})\n", one.rule,
                       counted(one.layouts, "layout"));
  }
  return "";
}

/// The ratio of two speeds, and how far it is known.
struct Ratio {
  double value = 1;
  std::optional<StepInterval> interval;  // empty: the spread of the prices is unknown
};

Ratio ratio_of(const LayoutPlan& first, const LayoutPlan& other) {
  const Trial &one = first.best()->trial, &two = other.best()->trial;
  // Samples per second of documents are those of one draw.
  const double value = one.mean_within && one.tokens_per_s && two.tokens_per_s
                           ? *two.tokens_per_s / *one.tokens_per_s
                           : two.samples_per_s / one.samples_per_s;
  const bool same_machine = first.task.hardware == other.task.hardware;
  if (!same_machine && !(one.spread && two.spread)) return {value, std::nullopt};
  // Different machines share no error.
  const StepInterval known =
      step_interval(same_machine ? spread_between(first) : spread_apart(one, two));
  return {value, StepInterval{value * known.least, value * known.most}};
}

FrontPoint point_of(const JudgedLayout& one) {
  return {to_us(one.trial.makespan) * 1e-6,
          static_cast<double>(one.trial.peak_bytes) / 1073741824.0};
}

/// That whose speed is 1; nullptr where no layout fits on any machine.
const LayoutPlan* first_that_fits(const std::vector<LayoutPlan>& plans) {
  const auto first =
      std::ranges::find_if(plans, [](const auto& plan) { return plan.best() != nullptr; });
  return first == plans.end() ? nullptr : &*first;
}

/// The best layouts with some values, and these without a limit of memory.
struct LosingPlans {
  LayoutPlan restricted, roomy;
};

LosingPlans losing_plans(const LayoutPlan& plan, const Catalogue& catalogue,
                         const PlannerOptions& planner, const Restrictions& why) {
  PlannerOptions restricted = planner;
  restricted.space.only = planner.space.only.with(why);
  TrainingTask roomy = plan.task;
  roomy.changes.push_back("/memory/capacity_bytes=1e15");
  return {best_plan(plan.task, catalogue, restricted), best_plan(roomy, catalogue, restricted)};
}

/// The stacks that list the device of a plan.
std::vector<std::string> stacks_listing(const LayoutPlan& plan, const Catalogue& catalogue) {
  std::vector<std::string> names;
  for (const auto& [key, item] : catalogue) {
    const bool lists = item.is == "stack" && stack_of(item, plan.device).known_device;
    if (lists) names.push_back(item.name);
  }
  return names;
}

/// The best layouts on each of them.
std::vector<LayoutPlan> plans_of_stacks(const LayoutPlan& plan, const Catalogue& catalogue,
                                        const PlannerOptions& planner) {
  std::vector<LayoutPlan> plans;
  for (const std::string& stack : stacks_listing(plan, catalogue)) {
    TrainingTask task = plan.task;
    task.changes.push_back("/hardware/stack=" + stack);
    plans.push_back(best_plan(task, catalogue, planner));
  }
  return plans;
}

/// The ZeRO levels of one stack that are allowed, "0,1".
std::string allowed_levels(const Restrictions& only, bool sharded) {
  std::vector<std::uint32_t> levels;
  for (const std::uint32_t zero : {0U, 1U, 2U, 3U}) {
    const bool allowed = runs_sharded(zero) == sharded && only.allow("/memory/zero", zero);
    if (allowed) levels.push_back(zero);
  }
  return fmt::format("{}", fmt::join(levels, ","));
}

/// Whether the best layouts of two plans belong to one family.
bool are_of_one_family(const LayoutPlan& one, const LayoutPlan& other) {
  return one.best() != nullptr && other.best() != nullptr &&
         family_of(one.best()->choice) == family_of(other.best()->choice);
}

/// The best layout of a former plan in a new one; nullptr: it is not among those compared.
const JudgedLayout* former_best(const LayoutPlan& before, const LayoutPlan& after) {
  const auto place = std::ranges::find(after.fitting, before.best()->choice, &JudgedLayout::choice);
  return place == after.fitting.end() ? nullptr : &*place;
}

}  // namespace

LayoutPlan best_plan(const TrainingTask& task, const Catalogue& catalogue, PlannerOptions planner) {
  planner.drawn = std::max(planner.drawn, planner.best);
  planner.best = 1;
  planner.front = false;
  return plan_layouts(task, catalogue, planner);
}

LayoutPlan plain_plan(const LayoutPlan& plan, const Catalogue& catalogue,
                      const PlannerOptions& planner) {
  PlannerOptions plain = planner;
  plain.space.only = planner.space.only.with(
      Restrictions({"/schedule/name=1f1b", "/recompute/mode=none", "/memory/zero=0,1"}));
  return best_plan(plan.task, catalogue, plain);
}

FrontPlot plan_plot(const LayoutPlan& plan, const LayoutPlan& plain) {
  FrontPlot plot{.title = fmt::format("Layouts of {} on {} of {}",
                                      std::filesystem::path(plan.task.model).filename().string(),
                                      counted(plan.task.devices, "device"), plan.task.hardware)};
  const auto front = front_of(plan.fitting);
  for (const JudgedLayout& one : plan.fitting) {
    plot.points.push_back(point_of(one));
    plot.points.back().on_front = std::ranges::find(front, &one) != front.end();
  }
  if (!plain.fitting.empty()) plot.plain = point_of(plain.fitting.front());
  if (plan.best() != nullptr && plan.best()->trial.capacity_bytes) {
    plot.capacity = static_cast<double>(*plan.best()->trial.capacity_bytes) / 1073741824.0;
  }
  return plot;
}

std::string why_text(const LayoutPlan& plan, const Catalogue& catalogue,
                     const PlannerOptions& planner, const Restrictions& why) {
  const auto [restricted, roomy] = losing_plans(plan, catalogue, planner, why);
  std::string text = fmt::format("\nwhy not {}\n", why.text());
  if (restricted.best() == nullptr) return text + none_text(restricted) + rules_text(restricted);
  const JudgedLayout& own = *restricted.best();
  text += fmt::format("its best takes {}{}: {}\n", step_text(own), best_note(restricted),
                      text_of(own.choice));
  if (plan.best() == nullptr) return text;
  const JudgedLayout& best = *plan.best();
  text += fmt::format("that is {} slower than {}, which is faster with {:.0f} %: {}\n",
                      percent_text(slower_than(own, best)), step_text(best),
                      100 * faster_with(plan, best, own), text_of(best.choice));
  text += split_text(plan, splits_of(plan, own, best, catalogue));
  return text + forced_text(restricted, roomy) + rule_text(restricted);
}

ordered_json why_json(const LayoutPlan& plan, const Catalogue& catalogue,
                      const PlannerOptions& planner, const Restrictions& why) {
  const auto [restricted, roomy] = losing_plans(plan, catalogue, planner, why);
  ordered_json json{{"values", why.text()},
                    {"plan", plan_json(restricted, 1)},
                    {"without_memory_limit", plan_json(roomy, 1)},
                    {"slower", nullptr},
                    {"step_us", nullptr}};
  if (restricted.best() == nullptr || plan.best() == nullptr) return json;
  const BothSplits splits = splits_of(plan, *restricted.best(), *plan.best(), catalogue);
  json["slower"] = slower_than(*restricted.best(), *plan.best());
  json["step_us"] = {{"own", split_json(splits.own)}, {"best", split_json(splits.best)}};
  return json;
}

std::string stacks_text(const LayoutPlan& plan, const Catalogue& catalogue,
                        const PlannerOptions& planner) {
  TableRows rows{{"stack", "step time", "family", "layout"}};
  for (const LayoutPlan& one : plans_of_stacks(plan, catalogue, planner)) {
    const JudgedLayout* best = one.best();
    if (best == nullptr) continue;
    rows.push_back({one.stacks[runs_sharded(best->choice.zero) ? 1 : 0],
                    fmt::format("{}{}", step_text(*best), best_note(one)),
                    are_of_one_family(plan, one) ? "the same" : "another", text_of(best->choice)});
  }
  return "\nthe best layout on each stack\n" + aligned(rows, {0, 2, 3});
}

ordered_json stacks_json(const LayoutPlan& plan, const Catalogue& catalogue,
                         const PlannerOptions& planner) {
  ordered_json all = ordered_json::array();
  for (const LayoutPlan& one : plans_of_stacks(plan, catalogue, planner)) {
    if (one.best() == nullptr) continue;
    all.push_back({{"stack", one.stacks[runs_sharded(one.best()->choice.zero) ? 1 : 0]},
                   {"same_family", are_of_one_family(plan, one)},
                   {"plan", plan_json(one, 1)}});
  }
  return all;
}

std::vector<std::vector<LayoutPlan>> comparisons(const std::vector<TrainingTask>& tasks,
                                                 const Catalogue& catalogue,
                                                 const PlannerOptions& planner) {
  std::vector<std::vector<LayoutPlan>> all;
  for (const bool sharded : {false, true}) {
    const std::string levels = allowed_levels(planner.space.only, sharded);
    if (levels.empty()) continue;
    PlannerOptions one_stack = planner;
    one_stack.space.only = planner.space.only.with(Restrictions({"/memory/zero=" + levels}));
    std::vector<LayoutPlan> plans{best_plan(tasks.front(), catalogue, one_stack)};
    const std::string stack = plans.front().stacks[sharded ? 1 : 0];
    for (std::size_t i = 1; i < tasks.size(); ++i) {
      TrainingTask task = tasks[i];
      task.changes.push_back("/hardware/stack=" + (stack.empty() ? "none" : stack));
      plans.push_back(best_plan(task, catalogue, one_stack));
    }
    all.push_back(std::move(plans));
  }
  const auto some_fit = [](const auto& plans) { return first_that_fits(plans) != nullptr; };
  if (std::ranges::any_of(all, some_fit)) std::erase_if(all, std::not_fn(some_fit));
  return all;
}

std::string change_text(const LayoutPlan& before, const LayoutPlan& after,
                        const std::string& change) {
  std::string text = fmt::format("\nwith {}\n", change);
  if (after.best() == nullptr) return text + none_text(after);
  const JudgedLayout& best = *after.best();
  text += fmt::format("best: {}{}: {}\n", step_text(best), best_note(after), text_of(best.choice));
  if (before.best() == nullptr) return text;
  const JudgedLayout& old = *before.best();
  text += fmt::format("step time: {}\n", signed_percent_text(slower_than(best, old)));
  if (best.choice == old.choice) return text + "the layout stays the same\n";
  const JudgedLayout* former = former_best(before, after);
  if (former == nullptr) return text + "the former best is not among those compared\n";
  return text +
         fmt::format("the former best is {} slower\n", percent_text(slower_than(*former, best)));
}

ordered_json change_json(const LayoutPlan& before, const LayoutPlan& after,
                         const std::string& change) {
  ordered_json json{{"change", change},
                    {"plan", plan_json(after, 1)},
                    {"slower", nullptr},
                    {"former_best_slower", nullptr}};
  if (before.best() == nullptr || after.best() == nullptr) return json;
  json["slower"] = slower_than(*after.best(), *before.best());
  const JudgedLayout* former = former_best(before, after);
  if (former != nullptr) json["former_best_slower"] = slower_than(*former, *after.best());
  return json;
}

std::string machines_text(const std::vector<LayoutPlan>& plans) {
  TableRows rows{
      {"machine", "stack", "devices", "step time", "speed", "90 % interval", "memory", "layout"}};
  const LayoutPlan* first = first_that_fits(plans);
  for (const LayoutPlan& plan : plans) {
    const JudgedLayout* best = plan.best();
    if (best == nullptr) {
      rows.push_back({plan.task.hardware, "", std::to_string(plan.task.devices), "", "", "", "",
                      plan.legal == 0 ? "no layout is legal" : "no layout fits"});
      continue;
    }
    std::string speed, interval;
    if (&plan != first) {
      const Ratio ratio = ratio_of(*first, plan);
      speed = fmt::format("{:.2f} ×", ratio.value);
      if (const auto& known = ratio.interval) {
        interval = fmt::format("{:.2f}–{:.2f}", known->least, known->most);
      }
    }
    rows.push_back({plan.task.hardware, plan.stacks[runs_sharded(best->choice.zero) ? 1 : 0],
                    std::to_string(plan.task.devices), step_text(*best), speed, interval,
                    fmt::format("{}{}", bytes_text(best->trial.peak_bytes), best_note(plan)),
                    text_of(best->choice)});
  }
  return "\nthe best layout on each machine; speed: that of the first that fits is 1\n" +
         aligned(rows, {0, 1, 7});
}

ordered_json machines_json(const std::vector<LayoutPlan>& plans) {
  ordered_json all = ordered_json::array();
  const LayoutPlan* first = first_that_fits(plans);
  for (const LayoutPlan& plan : plans) {
    ordered_json& one = all.emplace_back(plan_json(plan, 1));
    if (plan.best() == nullptr) continue;
    const Ratio ratio = ratio_of(*first, plan);
    one["speed"] = {{"ratio", ratio.value},
                    {"low", or_null(ratio.interval, &StepInterval::least)},
                    {"high", or_null(ratio.interval, &StepInterval::most)}};
  }
  return all;
}

}  // namespace penstock
