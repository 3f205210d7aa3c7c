#include "experiments/plan/planner/plan_report.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>

#include "experiments/input/files/json_output.hpp"
#include "experiments/input/files/table.hpp"
#include "experiments/input/scenario/codec_choice.hpp"
#include "experiments/run/repeat.hpp"
#include "experiments/show/results/cost_report.hpp"

namespace penstock {
namespace {

/// Members of a family that are as good as its best.
constexpr double near_share = 0.01;

/// Points of the front that text lists.
constexpr std::size_t most_points = 8;

/// How far the ratio of two predicted step times lies from that of the measured ones, as a standard
/// deviation of its logarithm: 68 % of 374 pairs of dense and 20 of MoE rows of one model, machine
/// and precision (papers mlperf, megatron_bridge, dgx_cloud and simumax) are as near.
constexpr double spread_of_pairs = 0.08;
constexpr double spread_of_pairs_with_experts = 0.19;

std::string speed_text(const Trial& trial, std::uint32_t devices) {
  if (!trial.tokens_per_s) return number_text(trial.samples_per_s);
  return fmt::format("{:.0f}", *trial.tokens_per_s / devices);
}

/// Columns in front of the last one: days and cost of the training, and what is more than with the
/// first layout.
void add_costs(const LayoutPlan& plan, const std::vector<ListedFamily>& families, TableRows& rows) {
  const auto first = cost_of(plan.task, families.front().best->trial);
  if (!first) return;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    TableRow cells = cost_heads(*first);
    if (i > 0) {
      cells =
          cost_cells(*cost_of(plan.task, families[i - 1].best->trial), i > 1 ? &*first : nullptr);
    }
    rows[i].insert(rows[i].end() - 1, cells.begin(), cells.end());
  }
}

/// "70.1 GiB (88 %)".
std::string memory_text(const Trial& trial) {
  std::string text = bytes_text(trial.peak_bytes);
  if (trial.capacity_bytes) {
    text += fmt::format(" ({:.0f} %)", 100 * static_cast<double>(trial.peak_bytes) /
                                           static_cast<double>(*trial.capacity_bytes));
  }
  return text;
}

/// What a row has besides its layout.
std::string row_note(const ListedFamily& row, const JudgedLayout& first) {
  std::vector<std::string> parts;
  if (row.best != &first) parts.push_back(difference_text(row.best->choice, first.choice));
  if (const std::string near = near_text(row); !near.empty()) parts.push_back(near);
  return fmt::format("{}", fmt::join(parts, "; "));
}

std::string table_text(const LayoutPlan& plan, const std::vector<ListedFamily>& families) {
  const JudgedLayout& first = *families.front().best;
  const bool tokens = first.trial.tokens_per_s.has_value();
  TableRows rows{{"", "step time", "slower", "sure", tokens ? "tokens/s/device" : "samples/s",
                  "memory", "layout"}};
  TableRows notes{{"", "differs from the first; as fast to 1 %"}};
  for (std::size_t i = 0; i < families.size(); ++i) {
    const JudgedLayout& one = *families[i].best;
    rows.push_back(
        {std::to_string(i + 1), step_text(one), i == 0 ? "" : percent_text(slower_than(one, first)),
         i == 0 ? "" : fmt::format("{:.0f} %", 100 * faster_with(plan, first, one)),
         speed_text(one.trial, plan.task.devices), memory_text(one.trial), text_of(one.choice)});
    const std::string note = row_note(families[i], first);
    if (!note.empty()) notes.push_back({std::to_string(i + 1), note});
  }
  add_costs(plan, families, rows);
  std::string text = aligned(rows, {rows.front().size() - 1});
  text +=
      "sure: how probable it is that the first is faster; most of the error of prices is the "
      "same\n";
  if (notes.size() > 1) text += "\n" + aligned(notes, {1});
  return text;
}

/// Layouts that are faster than all with headroom, and why they are no rows.
std::string tight_text(const LayoutPlan& plan) {
  std::vector<ListedFamily> tight = listed_families(plan.tight, 3);
  if (!plan.fitting.empty()) {
    std::erase_if(tight, [&](const ListedFamily& one) {
      return one.best->trial.pace() >= plan.fitting.front().trial.pace();
    });
  }
  if (tight.empty()) return "";
  TableRows rows{{"step time", "slower", "fit", "memory", "layout"}};
  for (const ListedFamily& one : tight) {
    const Trial& trial = one.best->trial;
    rows.push_back(
        {step_text(*one.best),
         plan.fitting.empty() ? ""
                              : signed_percent_text(slower_than(*one.best, plan.fitting.front())),
         trial.fits() ? "fits" : "may fit", memory_text(trial), text_of(one.best->choice)});
  }
  return "\nwith less memory to spare (--headroom):\n" + aligned(rows, {4});
}

/// What the times of a batch of documents are.
std::string documents_text(const LayoutPlan& plan) {
  const std::string refused =
      plan.draws_refused.empty()
          ? ""
          : "some do not run with these documents: " + plan.draws_refused + "\n";
  return fmt::format(
      "times are means of {} draws of documents, ± half of the 95 % interval, compared by tokens "
      "per second; layouts were found with full microbatches, of which the fastest takes {}\n{}",
      judged_draws, short_time_text(*plan.fastest_full), refused);
}

/// Points of the front besides the first, evenly spread.
std::string front_text(const LayoutPlan& plan) {
  const auto front = front_of(plan.fitting);
  if (front.size() < 2 || plan.fastest_full) return "";
  TableRows rows{{"step time", "slower", "memory", "layout"}};
  const std::size_t points = std::min(front.size() - 1, most_points);
  for (std::size_t i = 0; i < points; ++i) {
    const JudgedLayout& one = *front[1 + i * (front.size() - 1) / points];
    rows.push_back({step_text(one), percent_text(slower_than(one, plan.fitting.front())),
                    memory_text(one.trial), text_of(one.choice)});
  }
  return fmt::format("\nless memory for more time, {} of {} on the {}:\n", points, front.size() - 1,
                     plan.whole_front ? "front" : "front so far") +
         aligned(rows, {3});
}

/// "±3.0 %", "-12.3 % to +14.1 %".
std::string interval_text(const StepInterval& known) {
  const std::string least = signed_percent_text(known.least - 1);
  const std::string most = signed_percent_text(known.most - 1);
  if (least.substr(1) == most.substr(1)) return "±" + percent_text(known.most - 1);
  return least + " to " + most;
}

/// How far the step time of the first row is known, and why no better.
std::string known_text(const Trial& first) {
  const bool wider = first.spread && !first.spread->beyond.empty();
  return fmt::format(
      "the first step time is known to {}{}\n", interval_text(known_to(first)),
      wider ? fmt::format(" (wider: {})", fmt::join(first.spread->beyond, "; ")) : "");
}

/// What the training of the first layout takes.
std::string cost_note(const LayoutPlan& plan) {
  const auto first = cost_of(plan.task, plan.fitting.front().trial);
  return first ? "training with the first: " + cost_text(*first) + "\n" : "";
}

ordered_json module_json(const ModuleChoice& module) {
  const bool shared = module.devices == 0;
  return {{"name", module.name},
          {"order", shared ? ordered_json(module.in_bubbles ? "bubbles" : "first") : nullptr},
          {"tensor", module.tensor},
          {"own_devices", shared ? ordered_json() : ordered_json(module.devices)}};
}

ordered_json codec_json(const std::optional<CodecSpec>& codec) {
  return or_null(codec, [](const CodecSpec& one) { return encoding_json(one); });
}

ordered_json layout_json(const JudgedLayout& one, const LayoutPlan& plan) {
  const double us = to_us(one.trial.makespan);
  const StepInterval known = known_to(one.trial);
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
          {"schedule_options", one.choice.options},
          {"recompute", one.choice.recompute},
          {"recompute_unit", one.choice.recomputes_stages ? "stage" : "layer"},
          {"recompute_operators", one.choice.operators},
          {"recompute_layers", one.choice.layers > 0 ? ordered_json(one.choice.layers) : nullptr},
          {"offload_layers",
           one.choice.offloaded_layers > 0 ? ordered_json(one.choice.offloaded_layers) : nullptr},
          {"offload_keep", or_null(one.choice.offload)},
          {"stash_codec", codec_json(one.choice.stash)},
          {"link_codec", codec_json(one.choice.link)},
          {"overlap", one.choice.fused ? "fused" : "serial"},
          {"overlap_experts", one.choice.hides_experts},
          {"zero", one.choice.zero},
          {"partition", one.choice.partition},
          {"module", or_null(one.choice.module, module_json)},
          {"makespan_us", us},
          {"mean_within_us", or_null(one.trial.mean_within)},
          {"makespan_low_us", us * known.least},
          {"makespan_high_us", us * known.most},
          {"bound_us", one.bound_us},
          {"samples_per_s", one.trial.samples_per_s},
          {"tokens_per_s", or_null(one.trial.tokens_per_s)},
          {"peak_memory_bytes", one.trial.peak_bytes},
          {"memory",
           {{"word", or_null(one.trial.word, [](MemoryWord word) { return text(word); })},
            {"peak_interval_bytes", {one.trial.interval.least, one.trial.interval.most}}}},
          {"devices", plan.task.devices}};
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

ordered_json rows_json(const std::vector<ListedFamily>& rows, const LayoutPlan& plan) {
  ordered_json all = ordered_json::array();
  for (const ListedFamily& row : rows) {
    ordered_json& one = all.emplace_back(layout_json(*row.best, plan));
    const JudgedLayout& first = *rows.front().best;
    one["faster_with"] = faster_with(plan, *row.best, first);
    one["differs"] = difference_text(row.best->choice, first.choice);
    one["near"] = near_text(row);
    if (const auto cost = cost_of(plan.task, row.best->trial)) {
      const auto least = cost_of(plan.task, first.trial);
      one["training"] = cost_json(*cost, &*least);
    }
  }
  return all;
}

}  // namespace

std::vector<ListedFamily> listed_families(const std::vector<JudgedLayout>& layouts,
                                          std::size_t most) {
  std::vector<ListedFamily> rows;
  std::map<LayoutFamily, std::size_t> known;
  for (const JudgedLayout& one : layouts) {
    const auto [at, added] = known.try_emplace(family_of(one.choice), rows.size());
    if (added) {
      rows.push_back({&one, {}});
    } else if (slower_than(one, *rows[at->second].best) <= near_share) {
      rows[at->second].near.push_back(&one);
    }
  }
  if (rows.size() > most) rows.resize(most);
  std::vector<ListedFamily> different;
  for (ListedFamily& row : rows) {
    const auto same = std::ranges::find_if(
        different, [&](const auto& other) { return are_equal(*other.best, *row.best); });
    if (same == different.end()) {
      different.push_back(std::move(row));
    } else {
      same->near.push_back(row.best);
    }
  }
  return different;
}

std::vector<ListedFamily> best_families(const LayoutPlan& plan, std::size_t most) {
  return listed_families(plan.fitting.empty() ? plan.tight : plan.fitting, most);
}

std::vector<const JudgedLayout*> front_of(const std::vector<JudgedLayout>& layouts) {
  std::vector<const JudgedLayout*> front;
  for (const JudgedLayout& one : layouts) {
    const bool smaller = front.empty() || one.trial.peak_bytes < front.back()->trial.peak_bytes;
    if (smaller) front.push_back(&one);
  }
  return front;
}

StepInterval known_to(const Trial& trial) {
  return trial.spread ? step_interval(*trial.spread) : StepInterval{0.97, 1.03};
}

double spread_between(const LayoutPlan& plan) {
  return plan.task.experts > 1 ? spread_of_pairs_with_experts : spread_of_pairs;
}

double spread_apart(const Trial& one, const Trial& other) {
  const auto value = [](const Trial& trial) { return trial.spread ? trial.spread->value : 0; };
  return std::hypot(value(one), value(other));
}

double faster_with(const LayoutPlan& plan, const JudgedLayout& one, const JudgedLayout& other) {
  const bool same_stack = runs_sharded(one.choice.zero) == runs_sharded(other.choice.zero);
  const double apart = same_stack ? 0 : spread_apart(one.trial, other.trial);
  const double spread = std::max(spread_between(plan), apart);
  return 0.5 * std::erfc(-std::log1p(slower_than(other, one)) / spread / std::sqrt(2.0));
}

std::string step_text(const JudgedLayout& layout) {
  const TimeUnit unit = unit_for(layout.trial.makespan);
  const std::string step = short_time_text(layout.trial.makespan, unit);
  if (!layout.trial.mean_within) return fmt::format("{} {}", step, unit.name);
  const auto& [low, high] = *layout.trial.mean_within;
  return fmt::format("{} ± {} {}", step, short_time_text(from_us((high - low) / 2), unit),
                     unit.name);
}

double slower_than(const JudgedLayout& layout, const JudgedLayout& best) {
  return layout.trial.pace() / best.trial.pace() - 1;
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

std::string plan_text(const LayoutPlan& plan, std::size_t best) {
  std::string text =
      fmt::format("{} on {} of {}, global batch {}\n\n", plan.task.model,
                  counted(plan.task.devices, "device"), plan.task.hardware, plan.task.global_batch);
  if (plan.fitting.empty()) {
    text += plan.tight.empty() ? none_text(plan)
            : plan.stopped ? "no layout found before the search was stopped fits with headroom\n"
                           : "no layout fits with headroom\n";
  } else {
    text += table_text(plan, listed_families(plan.fitting, best));
    text += known_text(plan.fitting.front().trial);
    if (plan.fastest_full) text += documents_text(plan);
    if (plan.stopped) text += "stopped early (--budget): " + others_text(plan) + "\n";
    text += cost_note(plan);
  }
  text += tight_text(plan) + front_text(plan);
  if (!plan.no_stack.empty()) text += "\n" + plan.no_stack;
  text += "\n" + counts_text(plan) + "\n";
  return text;
}

ordered_json plan_json(const LayoutPlan& plan, std::size_t best) {
  ordered_json front = ordered_json::array();
  for (const JudgedLayout* one : front_of(plan.fitting)) {
    if (plan.fastest_full) break;  // compared over draws, it has none
    front.push_back(layout_json(*one, plan));
  }
  return {{"penstock", 1},
          {"model", plan.task.model},
          {"hardware", plan.task.hardware},
          {"devices", plan.task.devices},
          {"global_batch", plan.task.global_batch},
          {"layouts", rows_json(listed_families(plan.fitting, best), plan)},
          {"tight", rows_json(listed_families(plan.tight, best), plan)},
          {"front", front},
          {"whole_front", plan.whole_front},
          {"draws", plan.fastest_full ? ordered_json(judged_draws) : ordered_json()},
          {"fastest_full_us", or_null(plan.fastest_full, to_us)},
          {"draws_refused",
           plan.draws_refused.empty() ? ordered_json() : ordered_json(plan.draws_refused)},
          {"no_stack", plan.no_stack.empty() ? ordered_json() : ordered_json(plan.no_stack)},
          {"stopped", plan.stopped},
          {"least_other_us", plan.stopped && plan.slower_bound_us > 0
                                 ? ordered_json(plan.slower_bound_us)
                                 : ordered_json()},
          {"legal", plan.legal},
          {"none_because",
           plan.none_because.empty() ? ordered_json() : ordered_json(plan.none_because)},
          {"without_memory", plan.without_memory},
          {"slower_by_bound", plan.slower},
          {"simulated", plan.simulated},
          {"simulated_beside_encoder", plan.beside},
          {"simulated_without_memory", plan.too_large.size()},
          {"repeated", plan.repeated},
          {"excluded", exclusions_json(plan)}};
}

}  // namespace penstock
