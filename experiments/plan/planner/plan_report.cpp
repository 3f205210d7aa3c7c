#include "experiments/plan/planner/plan_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <numeric>

#include "experiments/input/files/json_output.hpp"
#include "experiments/input/files/table.hpp"
#include "experiments/show/results/cost_report.hpp"

namespace penstock {
namespace {

std::string step_text(const JudgedLayout& layout) {
  const TimeUnit unit = unit_for(layout.trial.makespan);
  return fmt::format("{} {}", short_time_text(layout.trial.makespan, unit), unit.name);
}

/// How much longer a step takes than another, as a share.
double slower_than(const JudgedLayout& layout, const JudgedLayout& best) {
  return to_us(layout.trial.makespan) / to_us(best.trial.makespan) - 1;
}

std::string speed_text(const Trial& trial, std::uint32_t devices) {
  if (!trial.tokens_per_s) return number_text(trial.samples_per_s);
  return fmt::format("{:.0f}", *trial.tokens_per_s / devices);
}

/// Columns in front of the last one: days and cost of the training, and what is more than with the
/// first layout.
void add_costs(const LayoutPlan& plan, TableRows& rows) {
  const auto first = cost_of(plan.task, plan.fitting.front().trial);
  if (!first) return;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    TableRow cells = cost_heads(*first);
    if (i > 0) {
      cells = cost_cells(*cost_of(plan.task, plan.fitting[i - 1].trial), i > 1 ? &*first : nullptr);
    }
    rows[i].insert(rows[i].end() - 1, cells.begin(), cells.end());
  }
}

std::string table_text(const LayoutPlan& plan, std::size_t best, std::size_t ties) {
  const bool tokens = plan.fitting.front().trial.tokens_per_s.has_value();
  TableRows rows{{"", "step time", "slower", tokens ? "tokens/s/device" : "samples/s", "memory",
                  "fit", "front", "tie", "layout"}};
  const std::vector<bool> front = pareto_front(plan.fitting);
  for (std::size_t i = 0; i < std::min(best, plan.fitting.size()); ++i) {
    const JudgedLayout& one = plan.fitting[i];
    rows.push_back({std::to_string(i + 1), step_text(one),
                    i == 0 ? "" : percent_text(slower_than(one, plan.fitting.front())),
                    speed_text(one.trial, plan.task.devices), bytes_text(one.trial.peak_bytes),
                    one.trial.fits() ? "" : std::string(text(*one.trial.word)), front[i] ? "*" : "",
                    i < ties && ties > 1 ? "=" : "", text_of(one.choice)});
  }
  add_costs(plan, rows);
  return aligned(rows, {rows.front().size() - 1});
}

std::string rules_text(const LayoutPlan& plan) {
  TableRows rows{{"layouts", "excluded because"}};
  for (const auto* list : {&plan.excluded, &plan.refused}) {
    for (const Exclusion& one : *list) rows.push_back({std::to_string(one.layouts), one.rule});
  }
  rows.push_back({std::to_string(plan.without_memory), "more memory needed than there is"});
  rows.push_back({std::to_string(plan.slower), "slower by their bound than the layouts listed"});
  return "\n" + aligned(rows, {1});
}

/// Whether a step time may be as short as another.
bool meets(double us, double other_us, const StepInterval& known) {
  return us * known.least <= other_us * known.most;
}

/// "±3.0 %", "-12.3 % to +14.1 %".
std::string known_text(const StepInterval& known) {
  const std::string least = signed_percent_text(known.least - 1);
  const std::string most = signed_percent_text(known.most - 1);
  if (least.substr(1) == most.substr(1)) return "±" + percent_text(known.most - 1);
  return least + " to " + most;
}

std::string ties_text(const LayoutPlan& plan, std::size_t ties, const StepInterval& known) {
  if (ties < 2) {
    return fmt::format("the first is the fastest although step times are known to {} only\n",
                       known_text(known));
  }
  const double best_us = to_us(plan.fitting.front().trial.makespan);
  return fmt::format(
      "ties: {} cannot be told from the first, as step times are known to {} only{}\n",
      counted(ties - 1, "simulated layout"), known_text(known),
      meets(plan.slower_bound_us, best_us, known)
          ? "; there may be more among those that were not simulated"
          : "");
}

/// What the training of the first layout takes.
std::string cost_note(const LayoutPlan& plan) {
  const auto first = cost_of(plan.task, plan.fitting.front().trial);
  return first ? "training with the first: " + cost_text(*first) + "\n" : "";
}

std::string least_text(const LayoutPlan& plan) {
  if (plan.legal == 0) return fmt::format("no layout is legal: {}\n", plan.none_because);
  if (!lacks_memory(plan)) {
    return fmt::format("no layout runs: {}\n", plan.refused.front().rule);
  }
  const std::string closest = closest_text(plan);
  return "no layout fits in memory\n" + (closest.empty() ? "" : closest + "\n");
}

ordered_json layout_json(const JudgedLayout& one, const LayoutPlan& plan, bool front, bool tie,
                         const StepInterval& known) {
  const double us = to_us(one.trial.makespan);
  return {{"layout", text_of(one.choice)},
          {"pipeline", one.choice.pipeline},
          {"chunks", one.choice.chunks},
          {"tensor", one.choice.tensor},
          {"sequence", one.choice.tensor > 1 && one.choice.sequence_parallel},
          {"data", one.choice.data},
          {"context", one.choice.context},
          {"expert", one.choice.expert},
          {"expert_tensor", one.choice.expert_tensor.value_or(one.choice.tensor)},
          {"microbatch", one.choice.microbatch},
          {"microbatches", one.choice.microbatches},
          {"schedule", one.choice.schedule},
          {"recompute", one.choice.recompute},
          {"zero", one.choice.zero},
          {"partition", one.choice.partition},
          {"makespan_us", us},
          {"makespan_low_us", us * known.least},
          {"makespan_high_us", us * known.most},
          {"bound_us", one.bound_us},
          {"samples_per_s", one.trial.samples_per_s},
          {"tokens_per_s", or_null(one.trial.tokens_per_s)},
          {"peak_memory_bytes", one.trial.peak_bytes},
          {"memory",
           {{"word", or_null(one.trial.word, [](MemoryWord word) { return text(word); })},
            {"peak_interval_bytes", {one.trial.interval.least, one.trial.interval.most}}}},
          {"devices", plan.task.devices},
          {"on_front", front},
          {"tie", tie}};
}

ordered_json exclusions_json(const LayoutPlan& plan) {
  ordered_json all = ordered_json::array();
  for (const auto* list : {&plan.excluded, &plan.refused}) {
    for (const Exclusion& one : *list) {
      all.push_back({{"rule", one.rule}, {"layouts", one.layouts}});
    }
  }
  return all;
}

}  // namespace

std::string counts_text(const LayoutPlan& plan) {
  const auto verb = [](std::uint64_t count, std::string_view one, std::string_view several) {
    return fmt::format("{} {}", count, count == 1 ? one : several);
  };
  const std::string others =
      plan.stopped ? verb(plan.slower, "was", "were") + " left when the time was up"
                   : verb(plan.slower, "has", "have") + " a bound above the listed times";
  return fmt::format(
      "judged {}: {} more memory than there is, {}, {} simulated ({} not fit, {} another under a "
      "second name)",
      counted(plan.legal, "legal layout"), verb(plan.without_memory, "needs", "need"), others,
      verb(plan.simulated, "was", "were"), verb(plan.too_large.size(), "does", "do"),
      verb(plan.repeated, "repeats", "repeat"));
}

std::string closest_text(const LayoutPlan& plan) {
  if (!plan.too_large.empty()) {
    const JudgedLayout& closest = plan.too_large.front();
    return fmt::format("the closest that was simulated needs {}: {}",
                       bytes_text(closest.trial.peak_bytes), text_of(closest.choice));
  }
  if (!plan.least) return "";
  return fmt::format("the smallest needs at least {}: {}",
                     bytes_text(static_cast<std::uint64_t>(plan.least->least_bytes)),
                     text_of(plan.least->choice));
}

std::vector<bool> pareto_front(const std::vector<JudgedLayout>& layouts) {
  std::vector<std::size_t> fastest_first(layouts.size());
  std::iota(fastest_first.begin(), fastest_first.end(), std::size_t{0});
  std::stable_sort(fastest_first.begin(), fastest_first.end(), [&](std::size_t a, std::size_t b) {
    return layouts[a].trial.makespan < layouts[b].trial.makespan;
  });
  std::vector<bool> front(layouts.size());
  std::uint64_t least = UINT64_MAX;
  for (const std::size_t i : fastest_first) {
    const std::uint64_t bytes = layouts[i].trial.peak_bytes;
    front[i] = bytes < least;
    least = std::min(least, bytes);
  }
  return front;
}

StepInterval known_to(const LayoutPlan& plan, std::optional<double> share) {
  if (!share && plan.spread) return step_interval(*plan.spread);
  const double both = share.value_or(0.03);
  return {1 - both, 1 + both};
}

std::size_t ties_of(const LayoutPlan& plan, const StepInterval& known) {
  if (plan.fitting.empty()) return 0;
  const double best_us = to_us(plan.fitting.front().trial.makespan);
  return static_cast<std::size_t>(
      std::count_if(plan.fitting.begin(), plan.fitting.end(), [&](const JudgedLayout& one) {
        return one.trial.fits() == plan.fitting.front().trial.fits() &&
               meets(to_us(one.trial.makespan), best_us, known);
      }));
}

std::string plan_text(const LayoutPlan& plan, std::size_t best, const StepInterval& known,
                      bool rules) {
  std::string text =
      fmt::format("{} on {} of {}, global batch {}\n\n", plan.task.model,
                  counted(plan.task.devices, "device"), plan.task.hardware, plan.task.global_batch);
  if (plan.fitting.empty()) {
    text += least_text(plan);
  } else {
    const std::size_t ties = ties_of(plan, known);
    text += table_text(plan, best, ties) + "\n" + ties_text(plan, ties, known);
    text += "front: no simulated layout is both as fast and smaller\n" + cost_note(plan);
  }
  text += counts_text(plan) + "\n";
  if (rules) text += rules_text(plan);
  return text;
}

ordered_json plan_json(const LayoutPlan& plan, std::size_t best, const StepInterval& known) {
  ordered_json layouts = ordered_json::array();
  const std::vector<bool> front = pareto_front(plan.fitting);
  const std::size_t ties = ties_of(plan, known);
  for (std::size_t i = 0; i < std::min(best, plan.fitting.size()); ++i) {
    layouts.push_back(layout_json(plan.fitting[i], plan, front[i], i < ties, known));
    if (const auto cost = cost_of(plan.task, plan.fitting[i].trial)) {
      const auto first = cost_of(plan.task, plan.fitting.front().trial);
      layouts.back()["training"] = cost_json(*cost, &*first);
    }
  }
  return {{"penstock", 1},
          {"model", plan.task.model},
          {"hardware", plan.task.hardware},
          {"devices", plan.task.devices},
          {"global_batch", plan.task.global_batch},
          {"layouts", layouts},
          {"legal", plan.legal},
          {"none_because",
           plan.none_because.empty() ? ordered_json() : ordered_json(plan.none_because)},
          {"without_memory", plan.without_memory},
          {"slower_by_bound", plan.slower},
          {"simulated", plan.simulated},
          {"simulated_without_memory", plan.too_large.size()},
          {"repeated", plan.repeated},
          {"excluded", exclusions_json(plan)}};
}

std::string why_text(const LayoutPlan& all, const LayoutPlan& restricted, const std::string& what) {
  std::string text = fmt::format("\nwhy not {}\n", what);
  if (restricted.fitting.empty()) return text + least_text(restricted) + rules_text(restricted);
  const JudgedLayout& own = restricted.fitting.front();
  text += fmt::format("its best takes {}: {}\n", step_text(own), text_of(own.choice));
  if (all.fitting.empty()) return text;
  const JudgedLayout& best = all.fitting.front();
  text += fmt::format("that is {} slower than {}: {}\n", percent_text(slower_than(own, best)),
                      step_text(best), text_of(best.choice));
  if (own.bound_us > to_us(best.trial.makespan)) {
    text += fmt::format("its work, fill and drain alone take {:.4g} times as long\n",
                        own.bound_us / to_us(best.trial.makespan));
  }
  return text;
}

std::string change_text(const LayoutPlan& before, const LayoutPlan& after,
                        const std::string& change) {
  std::string text = fmt::format("\nwith {}\n", change);
  if (after.fitting.empty()) return text + least_text(after);
  const JudgedLayout& best = after.fitting.front();
  text += fmt::format("best: {}: {}\n", step_text(best), text_of(best.choice));
  if (before.fitting.empty()) return text;
  const JudgedLayout& old = before.fitting.front();
  text += fmt::format("step time: {}\n", signed_percent_text(slower_than(best, old)));
  if (best.choice == old.choice) return text + "the layout stays the same\n";
  const auto place =
      std::find_if(after.fitting.begin(), after.fitting.end(),
                   [&](const JudgedLayout& one) { return one.choice == old.choice; });
  if (place == after.fitting.end()) return text + "the former best is not among those simulated\n";
  return text + fmt::format("the former best is number {}, {} slower\n",
                            place - after.fitting.begin() + 1,
                            percent_text(slower_than(*place, best)));
}

}  // namespace penstock
