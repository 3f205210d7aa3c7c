#include "experiments/measure/measured_runs/bursts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <span>

#include "experiments/input/files/table.hpp"
#include "experiments/measure/measured_runs/kernel_cuts.hpp"
#include "experiments/measure/measured_runs/partings.hpp"
#include "sim/base/error.hpp"

namespace penstock {
namespace {

/// The expected bursts of a rank.
struct Expected {
  const std::vector<Action>& actions;
  std::vector<ActionGroup> groups;
};

bool has_messages(const KinetoTrace& trace) {
  return std::any_of(trace.works.begin(), trace.works.end(),
                     [](const KinetoWork& work) { return is_point_to_point(work.kind); });
}

std::string too_few(const Expected& expected, std::size_t bursts) {
  return fmt::format("{} of kernels, where the order has {} ({})", counted(bursts, "burst"),
                     expected.groups.size(), counted(expected.actions.size(), "action"));
}

/// Adds the ops of a group if its burst has the same number of parts. A group of a single op takes
/// the whole burst. Returns the reason if it does not match.
std::string take_group(const Expected& expected, const ActionGroup& group, const Burst& burst,
                       std::optional<std::uint32_t> step, std::vector<MeasuredOp>& ops) {
  const Action& first = expected.actions[group.first];
  if (group.count == 1) {
    ops.push_back({first, {burst.parts.front().begin_ns, burst.parts.back().end_ns}, step});
    return "";
  }
  if (burst.parts.size() != group.count) {
    return fmt::format("messages part {} of kernels, where the order has the {} actions {} to {}",
                       counted(burst.parts.size(), "burst"), group.count, text(first),
                       text(expected.actions[group.first + group.count - 1]));
  }
  for (std::uint32_t i = 0; i < group.count; ++i) {
    ops.push_back({expected.actions[group.first + i], burst.parts[i], step});
  }
  return "";
}

/// Takes the bursts of one iteration off the front. Returns the reason if they do not match the
/// order.
std::string take_iteration(const Expected& expected, std::optional<std::uint32_t> step,
                           std::span<const Burst>& bursts, std::vector<MeasuredOp>& ops) {
  if (bursts.size() < expected.groups.size()) return too_few(expected, bursts.size());
  std::vector<MeasuredOp> taken;
  for (std::size_t i = 0; i < expected.groups.size(); ++i) {
    const Action& action = expected.actions[expected.groups[i].first];
    const bool as_first = is_forward(action) == is_forward(expected.actions.front());
    if (bursts[i].thread && as_first != (bursts[i].thread == bursts.front().thread)) {
      return fmt::format(
          "the thread that launched burst {} of {} is not that of {}, which the order has there", i,
          bursts.size(), text(action));
    }
    std::string why = take_group(expected, expected.groups[i], bursts[i], step, taken);
    if (!why.empty()) return why;
  }
  ops.insert(ops.end(), taken.begin(), taken.end());
  bursts = bursts.subspan(expected.groups.size());
  return "";
}

/// Takes the iteration of a step; without steps, all iterations in turn.
std::string take_all(const Expected& expected, std::optional<std::uint32_t> step,
                     std::span<const Burst> bursts, bool threads_known,
                     std::vector<MeasuredOp>& ops) {
  const std::size_t groups = expected.groups.size();
  const bool fits = step ? bursts.size() == groups : bursts.size() % groups == 0;
  if (!threads_known && !fits) return too_few(expected, bursts.size());
  do {
    std::string why = take_iteration(expected, step, bursts, ops);
    if (!why.empty()) return why;
  } while (!step && bursts.size() >= groups);
  return "";
}

}  // namespace

RankOps ops_of_bursts(const KinetoTrace& trace, const Schedule& schedule,
                      const Placement& placement, Rank rank) {
  if (schedule.on(rank).empty()) {
    throw InputError(fmt::format("the order has no action for rank {}", index(rank)));
  }
  if (placement.ranks() > 1 && !has_messages(trace)) {
    throw InputError(
        "it has no messages between ranks (kernels named nccl…SendRecv), which would part its ops; "
        "a trace with annotations can be read: penstock help traces has five lines that make them");
  }
  const KernelBursts bursts = kernel_bursts(trace);
  const Expected expected{schedule.on(rank),
                          action_groups(schedule, placement, rank, bursts.facts)};
  RankOps result;
  result.times = TimesOf::bursts;
  for (const auto& step : bursts.steps) {
    const std::string why =
        take_all(expected, step.first, step.second, bursts.facts.threads_known, result.ops);
    if (why.empty()) continue;
    result.broken_steps.push_back(step.first ? fmt::format("step {}: {}", *step.first, why) : why);
  }
  if (result.ops.empty()) {
    throw InputError(result.broken_steps.empty() ? "no kernel of it lies in a step"
                                                 : result.broken_steps.front());
  }
  return result;
}

}  // namespace penstock
