#include <fmt/format.h>

#include <iterator>
#include <map>
#include <nlohmann/json.hpp>

#include "experiments/input/files/json_output.hpp"
#include "experiments/measure/comparison/comparison.hpp"
#include "experiments/show/results/result_json.hpp"
#include "experiments/show/results/run_summary.hpp"

namespace penstock {
namespace {

ordered_json place_json(const Plan& plan, TaskId task) {
  return place_text(plan, plan.class_of(task).resource);
}

double bubble_of(const TimeUse& use, Time idle) {
  return use.makespan == Time{} ? 0 : to_us(idle) / to_us(use.makespan);
}

ordered_json run_json(const ComparedRun& run) {
  const Plan& plan = run.recording.plan;
  const Timeline& timeline = run.recording.timeline;
  return {{"file", run.source},
          {"title", run.recording.title},
          {"schedule", plan.schedule},
          {"plan_hash", fmt::format("{:016x}", plan_hash(plan))},
          {"ranks", plan.ranks},
          {"stages", plan.model_stage.size()},
          {"microbatches", plan.microbatches},
          {"iteration", timeline.iteration},
          {"environment", timeline.environment},
          {"ops", plan.tasks()},
          {"makespan_us", to_us(makespan(plan, timeline))}};
}

ordered_json spread_json(const Comparison& comparison, const Spread& spread) {
  const auto share = [&](Time time) { return share_of_makespan(comparison, time); };
  return {
      {"median_us", to_us(spread.median)},          {"ninth_decile_us", to_us(spread.ninth_decile)},
      {"largest_us", to_us(spread.largest)},        {"median", share(spread.median)},
      {"ninth_decile", share(spread.ninth_decile)}, {"largest", share(spread.largest)}};
}

ordered_json alone_json(const Plan& plan, const std::vector<TaskId>& tasks) {
  return list_json(tasks, [&](TaskId task) -> ordered_json {
    return {{"op", task_text(plan, task)}, {"where", place_json(plan, task)}};
  });
}

ordered_json first_json(const Plan& a, const Plan& b, const Comparison& comparison) {
  if (!comparison.first) return {};
  const OpDifference& op = comparison.ops[comparison.first->op];
  return {{"time_us", to_us(comparison.first->at)},
          {"op", task_text(a, op.task.a)},
          {"where", place_json(a, op.task.a)},
          {"reason", name(op.reason)},
          {"by", {{"a", task_json(a, op.by.a)}, {"b", task_json(b, op.by.b)}}},
          {"start_us", to_us(op.start)},
          {"wait_us", to_us(op.wait)},
          {"duration_us", to_us(op.duration())}};
}

ordered_json first_order_json(const Plan& a, const Plan& b, const Comparison& comparison) {
  const auto& order = comparison.first_order;
  if (!order) return {};
  return {{"time_us", to_us(order->at)},
          {"where", place_text(a, order->resource)},
          {"behind", task_json(a, order->after.a)},
          {"a", task_json(a, order->next.a)},
          {"b", task_json(b, order->next.b)}};
}

ordered_json own_json(const OwnDifferences& own) {
  return {{"durations", own.durations},
          {"duration_us", us_of(own.duration)},
          {"waits", own.waits},
          {"wait_us", us_of(own.wait)}};
}

ordered_json change_json(const Plan& plan, const MakespanChange& change) {
  const auto of_part = [&](const ChangePart& part) -> ordered_json {
    const WorkClass& work = plan.classes[part.work];
    return {{"pass", letters(work.pass)},
            {"stage", index(work.stage)},
            {"where", place_text(plan, work.resource)},
            {"ops", part.ops},
            {"change_us", us_of(part.change)}};
  };
  return {{"durations", list_json(change.parts, of_part)}, {"rest_us", us_of(change.rest)}};
}

ordered_json reasons_json(const Comparison& comparison) {
  ordered_json all;
  for (std::size_t r = 1; r < reason_count; ++r) {
    all[name(static_cast<Reason>(r))] = comparison.reasons[r];
  }
  return all;
}

ordered_json rank_json(const TimeUse& use, std::size_t rank) {
  if (rank >= use.ranks.size()) return {};
  const RankUse& its = use.ranks[rank];
  return {{"busy_us", to_us(its.busy)},
          {"idle_us", to_us(its.idle)},
          {"bubble", bubble_of(use, its.idle)},
          {"idle_by_cause_us", use.causes_known ? causes_json(its.idle_by_cause) : ordered_json()}};
}

/// `b` minus `a`, number by number; null if either has none.
ordered_json minus(const ordered_json& b, const ordered_json& a) {
  if (a.is_number() && b.is_number()) return b.get<double>() - a.get<double>();
  if (!a.is_object() || !b.is_object()) return {};
  ordered_json all = ordered_json::object();
  for (const auto& [key, value] : b.items()) all[key] = minus(value, a.at(key));
  return all;
}

ordered_json both_json(ordered_json a, ordered_json b) {
  ordered_json difference = minus(b, a);
  return {{"a", std::move(a)}, {"b", std::move(b)}, {"difference", std::move(difference)}};
}

ordered_json ranks_json(const Comparison& comparison) {
  const TimeUse& a = comparison.use_a;
  const TimeUse& b = comparison.use_b;
  ordered_json all = ordered_json::array();
  for (std::size_t r = 0; r < std::max(a.ranks.size(), b.ranks.size()); ++r) {
    ordered_json rank{{"rank", r}};
    rank.update(both_json(rank_json(a, r), rank_json(b, r)));
    all.push_back(std::move(rank));
  }
  return all;
}

ordered_json link_json(const LinkUse& link) {
  return {{"transfers", link.transfers},
          {"waiting_us", us_of(link.waiting)},
          {"moving_us", us_of(link.moving)},
          {"slowed_us", us_of(link.slowed)}};
}

ordered_json links_json(const Plan& plan_a, const Plan& plan_b, const Comparison& comparison) {
  std::map<std::string, std::pair<ordered_json, ordered_json>> by_name;
  for (std::size_t l = 0; l < plan_a.links.size(); ++l) {
    by_name[text(plan_a.links[l])].first = link_json(comparison.use_a.links[l]);
  }
  for (std::size_t l = 0; l < plan_b.links.size(); ++l) {
    by_name[text(plan_b.links[l])].second = link_json(comparison.use_b.links[l]);
  }
  ordered_json all = ordered_json::array();
  for (auto& [name, sides] : by_name) {
    ordered_json link{{"link", name}};
    link.update(both_json(std::move(sides.first), std::move(sides.second)));
    all.push_back(std::move(link));
  }
  return all;
}

ordered_json document(const ComparedRun& a, const ComparedRun& b, const Comparison& comparison) {
  const Plan& plan_a = a.recording.plan;
  const Plan& plan_b = b.recording.plan;
  const double makespan_a = to_us(makespan(plan_a, a.recording.timeline));
  const double longer = to_us(makespan(plan_b, b.recording.timeline)) - makespan_a;
  return {{"penstock", 1},
          {"same", comparison.same()},
          {"tolerance_us", to_us(comparison.tolerance)},
          {"a", run_json(a)},
          {"b", run_json(b)},
          {"same_plan", comparison.same_plan},
          {"scale_of_b", comparison.scale},
          {"notes", comparison_notes(a, b, comparison)},
          {"makespan_difference_us", longer},
          {"makespan_error", makespan_a == 0 ? 0 : longer / makespan_a},
          {"makespan_change", change_json(plan_a, comparison.makespan_change)},
          {"start_error", spread_json(comparison, comparison.starts)},
          {"end_error", spread_json(comparison, comparison.ends)},
          {"duration_error", spread_json(comparison, comparison.durations)},
          {"start_rank_correlation", or_null(comparison.start_correlation)},
          {"first", first_json(plan_a, plan_b, comparison)},
          {"first_order", first_order_json(plan_a, plan_b, comparison)},
          {"reasons", reasons_json(comparison)},
          {"actions", own_json(comparison.actions)},
          {"transfers", own_json(comparison.transfers)},
          {"ranks", ranks_json(comparison)},
          {"links", links_json(plan_a, plan_b, comparison)},
          {"only_in_a", alone_json(plan_a, comparison.tasks.only_a)},
          {"only_in_b", alone_json(plan_b, comparison.tasks.only_b)}};
}

void add_op(const Plan& plan, const Comparison& comparison, const OpDifference& op,
            std::string& text) {
  const auto [a, b] = op.task;
  fmt::format_to(
      std::back_inserter(text),
      R"(    {{"op": "{}", "where": "{}", "start_a_us": {}, "start_b_us": {}, "end_a_us": {}, )"
      R"("end_b_us": {}, "start_us": {}, "end_us": {}, "duration_us": {}, "wait_us": {}, )"
      R"("reason": "{}"}})",
      task_text(plan, a), place_text(plan, plan.class_of(a).resource),
      text_us(comparison.a.begin[a]), text_us(comparison.b.begin[b]), text_us(comparison.a.end[a]),
      text_us(comparison.b.end[b]), text_us(op.start), text_us(op.end), text_us(op.duration()),
      text_us(op.wait), name(op.reason));
}

}  // namespace

std::string comparison_json(const ComparedRun& a, const ComparedRun& b,
                            const Comparison& comparison, const ordered_json* more) {
  ordered_json all = document(a, b, comparison);
  if (more != nullptr) all.update(*more);
  std::string text = printed(all);
  text.erase(text.rfind("\n}"));
  text += ",\n  \"ops\": [";
  const char* apart = "\n";
  for (const OpDifference& op : comparison.ops) {
    text += apart;
    add_op(a.recording.plan, comparison, op, text);
    apart = ",\n";
  }
  text += "\n  ]\n}\n";
  return text;
}

}  // namespace penstock
