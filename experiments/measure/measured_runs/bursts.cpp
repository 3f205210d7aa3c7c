#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <utility>

#include "experiments/input/files/table.hpp"
#include "experiments/measure/measured_runs/rank_ops.hpp"
#include "sim/base/error.hpp"

namespace penstock {
namespace {

/// Consecutive actions of a rank that only messages from other ranks, or of unknown direction,
/// separate. Such messages may arrive too early to be seen, or while an op pauses.
struct ActionGroup {
  std::uint32_t first = 0;
  std::uint32_t count = 0;
};

/// Forwards run on one thread, all other passes on another.
constexpr bool is_forward(const Action& action) { return action.pass == Pass::forward; }

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

/// Whether a tensor between a stage and its neighbour crosses ranks.
bool crosses(const Placement& placement, const Action& action, std::optional<Stage> neighbour) {
  return neighbour && placement.rank_of(*neighbour, action.microbatch) !=
                          placement.rank_of(action.stage, action.microbatch);
}

bool sends(const Placement& placement, const Action& action) {
  if (is_forward(action)) return crosses(placement, action, placement.after(action.stage));
  return gives_gradient(action.pass) && crosses(placement, action, placement.before(action.stage));
}

bool receives(const Placement& placement, const Action& action) {
  if (is_forward(action)) return crosses(placement, action, placement.before(action.stage));
  return gives_gradient(action.pass) && crosses(placement, action, placement.after(action.stage));
}

InputError told_apart_by_nothing(const Action& before, const Action& after, Rank rank) {
  return InputError(fmt::format(
      "{} and {} of rank {} cannot be told apart: no message lies between them{}; a trace with "
      "annotations can be read",
      text(before), text(after), index(rank),
      is_forward(before) == is_forward(after)
          ? ""
          : ", and the launches that would tell their threads are not in it"));
}

/// The actions of a rank, split where any trace with these facts shows a message to another rank or
/// a change of threads. Throws InputError if two consecutive actions have neither these nor any
/// message between them.
std::vector<ActionGroup> action_groups(const Schedule& schedule, const Placement& placement,
                                       Rank rank, PartingFacts facts) {
  const std::vector<Action>& actions = schedule.on(rank);
  std::vector<ActionGroup> groups;
  for (std::uint32_t i = 0; i < actions.size(); ++i) {
    const bool sent = i > 0 && sends(placement, actions[i - 1]);
    const bool other_thread =
        i > 0 && facts.threads_known && is_forward(actions[i - 1]) != is_forward(actions[i]);
    if (i == 0 || (sent && facts.sends_named) || other_thread) {
      groups.push_back({i, 1});
    } else if (sent || receives(placement, actions[i])) {
      ++groups.back().count;
    } else {
      throw told_apart_by_nothing(actions[i - 1], actions[i], rank);
    }
  }
  return groups;
}

/// A kernel of the compute stream.
struct DeviceKernel {
  KinetoSpan span;
  std::optional<std::uint32_t> thread;  // launched by this thread
  std::optional<std::uint32_t> step;
};

/// The stream with the most time in kernels.
std::uint32_t busiest_lane(const KinetoTrace& trace) {
  std::map<std::uint32_t, std::int64_t> busy;
  for (const KinetoWork& work : trace.works) {
    if (work.kind == KinetoWorkKind::compute) {
      // halved, so that sums cannot overflow
      busy[work.lane] += work.span.end_ns / 2 - work.span.begin_ns / 2;
    }
  }
  if (busy.empty()) throw InputError("it has no kernels; only the host was traced");
  const auto less = [](const auto& a, const auto& b) { return a.second < b.second; };
  return std::max_element(busy.begin(), busy.end(), less)->first;
}

/// As many as the trace is long: most lie on disk.
struct DeviceKernels {
  SpilledList<DeviceKernel> all;  // in no order
  bool threads_known = true;      // of all
};

DeviceKernels kernels_of(const KinetoTrace& trace) {
  const std::uint32_t lane = busiest_lane(trace);
  const ProfilerSteps on_host(trace, false);
  const ProfilerSteps on_device(trace, true);
  DeviceKernels kernels;
  for_each_work(trace, [&](const KinetoWork& work, const KinetoLaunch* launch) {
    if (work.lane != lane || work.kind != KinetoWorkKind::compute) return;
    DeviceKernel kernel{work.span, {}, {}};
    if (launch != nullptr) kernel.thread = launch->lane;
    kernel.step = launch != nullptr && !on_host.empty() ? on_host.at(launch->at_ns)
                                                        : on_device.at(work.span.begin_ns);
    if (!kernel.step && !(on_host.empty() && on_device.empty())) return;
    kernels.threads_known = kernels.threads_known && kernel.thread;
    kernels.all.push_back(kernel);
  });
  return kernels;
}

bool begins_before(const DeviceKernel& a, const DeviceKernel& b) {
  return std::pair(a.span.begin_ns, a.span.end_ns) < std::pair(b.span.begin_ns, b.span.end_ns);
}

/// Whether an op ends or may begin before a kernel.
struct Cut {
  bool surely = false;
  bool maybe = false;
};

/// The cuts of messages: a time or two each.
class Cuts {
 public:
  Cuts(const KinetoTrace& trace) {
    for (const KinetoWork& work : trace.works) {
      if (work.kind == KinetoWorkKind::send) {
        op_ends_.push_back(work.span.begin_ns);
      } else if (is_point_to_point(work.kind)) {
        op_begins_.push_back(work.span.end_ns);
        if (work.kind == KinetoWorkKind::exchange) op_begins_.push_back(work.span.begin_ns);
      }
    }
    std::sort(op_ends_.begin(), op_ends_.end());
    std::sort(op_begins_.begin(), op_begins_.end());
  }

  /// Before this kernel; to be asked for all in turn, by their begins.

  Cut before(const KinetoSpan& kernel) {
    Cut cut;
    for (; next_end_ < op_ends_.size() && op_ends_[next_end_] < kernel.end_ns; ++next_end_) {
      cut.surely = true;
    }
    while (next_begin_ < op_begins_.size() && op_begins_[next_begin_] <= kernel.begin_ns) {
      const std::int64_t begin_ns = op_begins_[next_begin_++];
      if (!idle_from_ || *idle_from_ <= begin_ns) cut.maybe = true;
    }
    idle_from_ = kernel.end_ns;
    return cut;
  }

 private:
  std::vector<std::int64_t> op_ends_;  // a kernel that is still running belongs to a later op
  std::vector<std::int64_t> op_begins_;
  std::size_t next_end_ = 0;
  std::size_t next_begin_ = 0;
  std::optional<std::int64_t> idle_from_;
};

void add(const DeviceKernel& kernel, bool goes_on, bool maybe_cut, std::vector<Burst>& bursts) {
  if (!goes_on) {
    bursts.push_back({{kernel.span}, kernel.thread});
  } else if (maybe_cut) {
    bursts.back().parts.push_back(kernel.span);
  } else {
    std::int64_t& end_ns = bursts.back().parts.back().end_ns;
    end_ns = std::max(end_ns, kernel.span.end_ns);
  }
}

bool has_sends(const KinetoTrace& trace) {
  return std::any_of(trace.works.begin(), trace.works.end(),
                     [](const KinetoWork& work) { return work.kind == KinetoWorkKind::send; });
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
    result.broken_steps.push_back(
        {step.first, step.first ? fmt::format("step {}: {}", *step.first, why) : why});
  }
  if (result.ops.empty()) {
    throw InputError(result.broken_steps.empty() ? "no kernel of it lies in a step"
                                                 : result.broken_steps.front().why);
  }
  return result;
}

KernelBursts kernel_bursts(const KinetoTrace& trace) {
  const DeviceKernels kernels = kernels_of(trace);
  KernelBursts result;
  result.facts = {.threads_known = kernels.threads_known, .sends_named = has_sends(trace)};
  Cuts cuts(trace);
  SortedRecords in_turn(kernels.all, begins_before);
  while (const DeviceKernel* const next = in_turn.next()) {
    DeviceKernel kernel = *next;
    if (!kernels.threads_known) kernel.thread.reset();
    const Cut cut = cuts.before(kernel.span);
    std::vector<Burst>& bursts = result.steps[kernel.step];
    const bool goes_on = !bursts.empty() && !cut.surely && bursts.back().thread == kernel.thread;
    add(kernel, goes_on, cut.maybe, bursts);
  }
  return result;
}

}  // namespace penstock
