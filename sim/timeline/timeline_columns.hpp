#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sim/plan/plan.hpp"
#include "sim/timeline/timeline.hpp"

namespace penstock {

/// Columns of the `.timeline` format for the parts of a plan and its timeline that are not arrays.
struct TimelineColumns {
  std::string title;
  std::vector<std::uint32_t> environment_lengths;
  std::string environment_text;
  std::vector<std::uint64_t> plan_hash;
  std::vector<std::uint32_t> ranks, microbatches, iteration;
  std::vector<std::uint32_t> link_from, link_to;
  std::vector<std::uint8_t> class_pass;
  std::vector<std::uint32_t> class_stage, class_resource, class_buffer, class_partner;
  std::vector<std::uint8_t> class_follows, class_recomputes;
  std::vector<std::uint32_t> class_effects;
  std::vector<std::uint32_t> effect_buffer;
  std::vector<std::uint8_t> effect_at_end, effect_takes;
  std::vector<std::uint8_t> buffer_kind;
  std::vector<std::uint32_t> buffer_stage, buffer_rank;
  std::vector<std::uint32_t> memory_rank;
  std::vector<Time> memory_time;
  std::vector<std::uint64_t> memory_bytes;
};

/// Calls `visit(name, column)` for the sections ahead of the tasks, in file order.
template <class ColumnsType, class PlanType, class Visitor>
void for_each_head_section(ColumnsType& columns, PlanType& plan, Visitor&& visit) {
  visit("title", columns.title);
  visit("schedule", plan.schedule);
  visit("environment_lengths", columns.environment_lengths);
  visit("environment_text", columns.environment_text);
  visit("plan_hash", columns.plan_hash);
  visit("ranks", columns.ranks);
  visit("microbatches", columns.microbatches);
  visit("iteration", columns.iteration);
  visit("link_from", columns.link_from);
  visit("link_to", columns.link_to);
  visit("class_pass", columns.class_pass);
  visit("class_stage", columns.class_stage);
  visit("class_resource", columns.class_resource);
  visit("class_buffer", columns.class_buffer);
  visit("class_partner", columns.class_partner);
  visit("class_follows", columns.class_follows);
  visit("class_recomputes", columns.class_recomputes);
  visit("class_effects", columns.class_effects);
  visit("effect_buffer", columns.effect_buffer);
  visit("effect_at_end", columns.effect_at_end);
  visit("effect_takes", columns.effect_takes);
  visit("buffer_kind", columns.buffer_kind);
  visit("buffer_stage", columns.buffer_stage);
  visit("buffer_rank", columns.buffer_rank);
  visit("model_stage", plan.model_stage);
}

/// The same for the sections of tasks, and those behind them.
template <class ColumnsType, class PlanType, class TimelineType, class Visitor>
void for_each_task_section(ColumnsType& columns, PlanType& plan, TimelineType& timeline,
                           Visitor&& visit) {
  visit("work", plan.work);
  visit("microbatch", plan.microbatch);
  visit("input", plan.input);
  visit("inputs", plan.inputs);
  visit("followers", plan.followers);
  visit("begin", timeline.begin);
  visit("end", timeline.end);
  visit("last_input", timeline.last_input);
  visit("slowed", timeline.slowed);
  visit("memory_wait", timeline.memory_wait);
  visit("memory_rank", columns.memory_rank);
  visit("memory_time", columns.memory_time);
  visit("memory_bytes", columns.memory_bytes);
}

TimelineColumns take_apart(const Plan& plan, const Timeline& timeline, std::string_view title);

/// Fills in what a plan and a timeline have besides their tasks. Throws InputError when columns
/// contradict each other.
void put_head_together(const TimelineColumns& columns, Plan& plan, Timeline& timeline);

/// Fills in a plan and a timeline from the columns. Throws InputError when columns contradict each
/// other or do not belong to the plan.
void put_together(const TimelineColumns& columns, Plan& plan, Timeline& timeline);

/// Throws InputError about one section.
[[noreturn]] void refuse_section(std::string_view section, const std::string& what);

/// Checks everything that `lower` guarantees: indices are in range, inputs precede their readers,
/// the parts of a fused cell are adjacent. For plans from outside; throws InputError naming the
/// entry at fault.
void check_plan(const Plan& plan);

/// What of this concerns classes, links, buffers and stages.
void check_plan_head(const Plan& plan);

/// The same for a timeline of a valid plan: one span per task, times within the clock, last inputs
/// among the inputs, memory samples in order.
void check_timeline(const Plan& plan, const Timeline& timeline);

}  // namespace penstock
