#include "experiments/measured_runs/bursts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <span>

#include "sim/error.hpp"

namespace penstock {
namespace {

/// A kernel of the stream that computes.
struct Kernel {
  KinetoSpan span;
  std::optional<std::uint32_t> thread;  // that launched it
  std::optional<std::uint32_t> step;
};

/// Kernels without anything between them that ends an op.
struct Burst {
  KinetoSpan span;
  std::optional<std::uint32_t> thread;
};

/// What is asked of the bursts of a rank.
struct Expected {
  const std::vector<Action>& actions;
  const Placement& placement;
  Rank rank;
};

// ---- what messages an order has ----

/// Whether what passes between a stage and its neighbour goes to another rank.
bool leaves(const Expected& expected, std::optional<Stage> neighbour, Microbatch microbatch) {
  return neighbour && expected.placement.rank_of(*neighbour, microbatch) != expected.rank;
}

bool sends(const Expected& expected, const Action& action) {
  const Placement& placement = expected.placement;
  if (action.pass == Pass::forward) {
    return leaves(expected, placement.after(action.stage), action.microbatch);
  }
  return gives_gradient(action.pass) &&
         leaves(expected, placement.before(action.stage), action.microbatch);
}

bool receives(const Expected& expected, const Action& action) {
  const Placement& placement = expected.placement;
  if (action.pass == Pass::forward) {
    return leaves(expected, placement.before(action.stage), action.microbatch);
  }
  return gives_gradient(action.pass) &&
         leaves(expected, placement.after(action.stage), action.microbatch);
}

bool is_forward(const Action& action) { return action.pass == Pass::forward; }

/// Throws InputError unless something stands between each two actions of the order.
void check_cuts(const Expected& expected, bool threads_known) {
  for (std::size_t i = 1; i < expected.actions.size(); ++i) {
    const Action& before = expected.actions[i - 1];
    const Action& after = expected.actions[i];
    if (sends(expected, before) || receives(expected, after)) continue;
    const bool by_thread = is_forward(before) != is_forward(after);
    if (by_thread && threads_known) continue;
    throw InputError(fmt::format(
        "{} and {} of rank {} cannot be told apart: no message lies between them{}; a trace with "
        "annotations can be read",
        text(before), text(after), index(expected.rank),
        by_thread ? ", and the launches that would tell their threads are not in it" : ""));
  }
}

// ---- where a trace is cut ----

/// The stream with the most time in kernels.
std::uint32_t busiest_lane(const KinetoTrace& trace) {
  std::map<std::uint32_t, std::int64_t> busy;
  for (const DeviceWork& work : trace.works) {
    if (work.kind == DeviceWorkKind::compute) {
      busy[work.lane] += work.span.end_ns / 2 - work.span.begin_ns / 2;  // sums cannot overflow
    }
  }
  if (busy.empty()) throw InputError("it has no kernels; only the host was traced");
  const auto less = [](const auto& a, const auto& b) { return a.second < b.second; };
  return std::max_element(busy.begin(), busy.end(), less)->first;
}

std::vector<Kernel> kernels_of(const KinetoTrace& trace) {
  const std::uint32_t lane = busiest_lane(trace);
  const LaunchIndex launches(trace);
  const Steps on_host(trace, false);
  const Steps on_device(trace, true);
  std::vector<Kernel> kernels;
  for (const DeviceWork& work : trace.works) {
    if (work.lane != lane || work.kind != DeviceWorkKind::compute) continue;
    Kernel kernel{work.span, {}, {}};
    const Launch* const launch = launches.of(work);
    if (launch != nullptr) kernel.thread = launch->lane;
    kernel.step = launch != nullptr && !on_host.empty() ? on_host.at(launch->at_ns)
                                                        : on_device.at(work.span.begin_ns);
    if (kernel.step || (on_host.empty() && on_device.empty())) kernels.push_back(kernel);
  }
  std::stable_sort(kernels.begin(), kernels.end(), [](const Kernel& a, const Kernel& b) {
    return a.span.begin_ns < b.span.begin_ns;
  });
  return kernels;
}

/// Marks kernels in front of which something ends an op or lets one begin.
class Cuts {
 public:
  explicit Cuts(const std::vector<Kernel>& kernels)
      : kernels_(kernels), in_front_of_(kernels.size() + 1) {}

  /// An op had ended by then: a kernel that runs is of a later one.
  void at_latest(std::int64_t ns) {
    in_front_of_[first([ns](const Kernel& kernel) { return kernel.span.end_ns > ns; })] = true;
  }
  /// The same for what tells nothing while a kernel runs.
  void where_idle(std::int64_t ns) {
    const std::size_t next = first([ns](const Kernel& k) { return k.span.begin_ns >= ns; });
    if (next == 0 || kernels_[next - 1].span.end_ns <= ns) in_front_of_[next] = true;
  }
  bool in_front_of(std::size_t kernel) const { return in_front_of_[kernel]; }

 private:
  template <class Predicate>
  std::size_t first(Predicate is_behind) const {
    const auto found = std::partition_point(kernels_.begin(), kernels_.end(),
                                            [&](const Kernel& k) { return !is_behind(k); });
    return static_cast<std::size_t>(found - kernels_.begin());
  }

  const std::vector<Kernel>& kernels_;
  std::vector<bool> in_front_of_;
};

/// A send begins when its op has ended; a receive ends before its op begins, maybe while an earlier
/// one runs. Where the trace does not say which it is, both moments count.
Cuts cuts_of(const KinetoTrace& trace, const std::vector<Kernel>& kernels) {
  Cuts cuts(kernels);
  for (const DeviceWork& work : trace.works) {
    if (!is_point_to_point(work.kind)) continue;
    if (work.kind == DeviceWorkKind::send) {
      cuts.at_latest(work.span.begin_ns);
      continue;
    }
    cuts.where_idle(work.span.end_ns);
    if (work.kind == DeviceWorkKind::exchange) cuts.where_idle(work.span.begin_ns);
  }
  return cuts;
}

using StepBursts = std::map<std::optional<std::uint32_t>, std::vector<Burst>>;

StepBursts bursts_of(const KinetoTrace& trace, const std::vector<Kernel>& kernels) {
  const Cuts cuts = cuts_of(trace, kernels);
  StepBursts steps;
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    const Kernel& kernel = kernels[i];
    std::vector<Burst>& bursts = steps[kernel.step];
    const bool goes_on =
        !bursts.empty() && !cuts.in_front_of(i) && bursts.back().thread == kernel.thread;
    if (!goes_on) {
      bursts.push_back({kernel.span, kernel.thread});
    } else {
      bursts.back().span.end_ns = std::max(bursts.back().span.end_ns, kernel.span.end_ns);
    }
  }
  return steps;
}

// ---- which burst is which action ----

/// Why the first bursts of these are not the actions of the order; "" when they are.
std::string mismatch(const Expected& expected, std::span<const Burst> bursts) {
  const std::size_t actions = expected.actions.size();
  if (bursts.size() < actions) {
    return fmt::format("{} bursts of kernels, where the order has {} actions", bursts.size(),
                       actions);
  }
  const bool threads_known = bursts.front().thread.has_value();
  for (std::size_t i = 0; threads_known && i < actions; ++i) {
    const bool as_first = is_forward(expected.actions[i]) == is_forward(expected.actions.front());
    if (as_first == (bursts[i].thread == bursts.front().thread)) continue;
    return fmt::format(
        "the thread that launched burst {} of {} is not that of {}, which the order "
        "has there",
        i, bursts.size(), text(expected.actions[i]));
  }
  return "";
}

/// Takes the bursts of one iteration off the front. Returns why they are not those of the order.
std::string take_iteration(const Expected& expected, std::optional<std::uint32_t> step,
                           std::span<const Burst>& bursts, RankOps& result) {
  const std::string why = mismatch(expected, bursts);
  if (!why.empty()) return why;
  for (std::size_t i = 0; i < expected.actions.size(); ++i) {
    result.ops.push_back({expected.actions[i], bursts[i].span, step});
  }
  bursts = bursts.subspan(expected.actions.size());
  return "";
}

/// The iteration of a step, or without steps one behind the other.
std::string take_all(const Expected& expected, std::optional<std::uint32_t> step,
                     std::span<const Burst> bursts, bool threads_known, RankOps& result) {
  const std::size_t all = bursts.size();
  const std::size_t actions = expected.actions.size();
  if (!threads_known && (step ? all != actions : all % actions != 0)) {
    return fmt::format("{} bursts of kernels, where the order has {} actions", all, actions);
  }
  do {
    const std::string why = take_iteration(expected, step, bursts, result);
    if (!why.empty()) return why;
  } while (!step && bursts.size() >= actions);
  return "";
}

void forget_threads(std::vector<Kernel>& kernels) {
  for (Kernel& kernel : kernels) kernel.thread.reset();
}

}  // namespace

RankOps ops_of_bursts(const KinetoTrace& trace, const Schedule& schedule,
                      const Placement& placement, Rank rank) {
  const Expected expected{schedule.on(rank), placement, rank};
  std::vector<Kernel> kernels = kernels_of(trace);
  const bool threads_known = std::all_of(kernels.begin(), kernels.end(),
                                         [](const Kernel& kernel) { return kernel.thread; });
  if (!threads_known) forget_threads(kernels);
  check_cuts(expected, threads_known);
  RankOps result;
  result.times = TimesOf::bursts;
  for (const auto& step : bursts_of(trace, kernels)) {
    const std::string why = take_all(expected, step.first, step.second, threads_known, result);
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
