#include "experiments/measure/measured_runs/measured_run.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <utility>
#include <variant>

#include "experiments/input/files/table.hpp"
#include "experiments/measure/measured_runs/clocks.hpp"
#include "sim/base/error.hpp"
#include "sim/base/limits.hpp"
#include "sim/engines/events.hpp"
#include "sim/plan/lower.hpp"
#include "validate/statistics/bootstrap.hpp"
#include "validate/statistics/summary.hpp"

namespace penstock {
namespace {

// ---- choice of iterations ----

/// The index of the iteration that gives the order, and that order.
std::pair<std::size_t, SeenOrder> choose(const std::vector<RunIteration>& iterations,
                                         const Placement* placement,
                                         std::optional<std::uint32_t> chosen) {
  std::string first_fault;
  for (std::size_t i = iterations.size(); i-- > 0;) {
    if (chosen && iterations[i].number != *chosen) continue;
    try {
      return {i, order_of(iterations[i], placement)};
    } catch (const InputError& error) {
      if (first_fault.empty()) {
        first_fault = fmt::format("step {}: {}", iterations[i].number, error.what());
      }
    }
  }
  if (!first_fault.empty()) throw InputError("no step is whole: " + first_fault);
  throw InputError(chosen ? fmt::format("--step {}: not all ranks have ops of that step", *chosen)
                          : "there is no step of which all ranks have ops");
}

bool has_order(const RunIteration& iteration, const Schedule& schedule) {
  for (Rank rank : Numbers<Rank>(schedule.ranks())) {
    const auto& ops = iteration.ops[index(rank)];
    const auto& actions = schedule.on(rank);
    if (!std::equal(ops.begin(), ops.end(), actions.begin(), actions.end(),
                    [](const MeasuredOp& op, const Action& action) { return op.action == action; }))
      return false;
  }
  return true;
}

/// Why an iteration does not have the chosen order; nothing if it has.
std::optional<std::string> why_left_out(const RunIteration& iteration, const SeenOrder& order) {
  const Communication& chosen = order.communication;
  if (has_order(iteration, order.schedule)) {
    if (!chosen.written()) return std::nullopt;
    const auto own = communication_of(iteration, order);
    if (const auto* fault = std::get_if<std::string>(&own)) return *fault;
    if (std::get<Communication>(own) == chosen) return std::nullopt;
    return "its SENDs and RECVs were issued in another order";
  }
  try {
    order_of(iteration, &order.placement);
  } catch (const InputError& error) {
    return error.what();
  }
  return "its ops ran in another order";
}

// ---- an iteration as a run of a plan ----

/// When its first op began.
std::int64_t start_of(const RunIteration& run) {
  std::int64_t first = INT64_MAX;
  for (const auto& rank : run.ops) {
    if (!rank.empty()) first = std::min(first, rank.front().span.begin_ns);
  }
  return first;
}

/// The actions of an iteration, timed from the begin of the first.
Timeline actions_of(const Plan& plan, const RunIteration& run) {
  std::map<ActionKey, KinetoSpan> spans;
  const std::int64_t first = start_of(run);
  std::int64_t last = INT64_MIN;
  for (const auto& rank : run.ops) {
    for (const MeasuredOp& op : rank) {
      spans[key_of(op.action)] = op.span;
      last = std::max(last, op.span.end_ns);
    }
  }
  if (static_cast<double>(last) - static_cast<double>(first) > Limits::time_us * 1e3) {
    throw InputError(fmt::format(
        "step {}: its ranks are more than {} s apart; the clocks of all traces must be one "
        "(/baseTimeNanoseconds)",
        run.number, Limits::time_us / 1e6));
  }
  Timeline timeline;
  timeline.begin.resize(plan.tasks());
  timeline.end.resize(plan.tasks());
  for (TaskId task = 0; task < plan.tasks(); ++task) {
    const WorkClass& work = plan.class_of(task);
    if (plan.is_link(work.resource)) continue;
    const KinetoSpan& span = spans.at({work.pass, work.stage, plan.microbatch[task]});
    timeline.begin[task] = from_ns(span.begin_ns - first);
    timeline.end[task] = from_ns(span.end_ns - first);
  }
  return timeline;
}

Plan plan_of(const SeenOrder& order) {
  auto lowered = lower(order.schedule, order.placement, Overlap::serial,
                       Extras{.communication = order.communication});
  if (const auto* deadlock = std::get_if<Deadlock>(&lowered)) {
    throw InputError(fmt::format("its order cannot have run: {}", text(*deadlock)));
  }
  return std::get<Plan>(std::move(lowered));
}

/// Takes the communication of an iteration as its hosts issued it, or says why not.
void take_communication(const RunIteration& iteration, MeasuredRun& run) {
  auto issued = communication_of(iteration, run.order);
  if (auto* const communication = std::get_if<Communication>(&issued)) {
    run.order.communication = std::move(*communication);
    return;
  }
  run.notes.push_back(fmt::format(
      "tensors count as under way once they are made, since the SENDs and RECVs of step {} cannot "
      "have run as marked: {}",
      iteration.number, std::get<std::string>(issued)));
}

// ---- times of ops ----

/// The lengths to take median and quartiles of. Where the host runs the ops, waits for locks and
/// cores fall on a few of them, and the step pays for these: a mean of each iteration.
std::vector<double> typical_lengths(const std::vector<std::vector<double>>& of_iterations,
                                    bool on_host) {
  std::vector<double> typical;
  for (const std::vector<double>& lengths : of_iterations) {
    if (on_host) {
      typical.push_back(std::accumulate(lengths.begin(), lengths.end(), 0.0) /
                        static_cast<double>(lengths.size()));
    } else {
      typical.insert(typical.end(), lengths.begin(), lengths.end());
    }
  }
  return typical;
}

std::vector<OpTimes> op_times(const Plan& plan, const std::vector<Timeline>& iterations,
                              bool on_host) {
  std::map<std::pair<std::uint32_t, Pass>, std::vector<std::vector<double>>> lengths;
  for (TaskId task = 0; task < plan.tasks(); ++task) {
    const WorkClass& work = plan.class_of(task);
    if (plan.is_link(work.resource)) continue;
    auto& of_iterations = lengths[{plan.model_stage[index(work.stage)], work.pass}];
    of_iterations.resize(iterations.size());
    for (std::size_t i = 0; i < iterations.size(); ++i) {
      of_iterations[i].push_back(
          static_cast<double>(to_ns(iterations[i].end[task] - iterations[i].begin[task])));
    }
  }
  std::vector<OpTimes> times;
  for (const auto& [key, of_iterations] : lengths) {
    const std::vector<double> typical = typical_lengths(of_iterations, on_host);
    times.push_back({key.first, key.second, of_iterations.size() * of_iterations.front().size(),
                     median(typical), quantile(typical, 0.25), quantile(typical, 0.75)});
  }
  return times;
}

/// Sets the durations of work classes to the medians.
void fill_job(const std::vector<OpTimes>& times, const TransferTimes& transfers, Job& job) {
  const Plan& plan = job.priced.plan;
  Costs& costs = job.priced.costs;
  costs.latency = transfers.by_class;
  costs.bytes.assign(plan.buffers.size(), 0);
  for (const WorkClass& work : plan.classes) {
    const OpTimes* const op = find_times(times, plan.model_stage[index(work.stage)], work.pass);
    costs.duration.push_back(from_ns(op == nullptr ? 0 : std::llround(op->median_ns)));
  }
}

/// The durations of a job with the host's time behind each action.
std::vector<Time> with_host(const Job& job, double host_us) {
  const Plan& plan = job.priced.plan;
  std::vector<Time> durations = job.priced.costs.duration;
  for (std::size_t i = 0; i < durations.size(); ++i) {
    if (!plan.is_link(plan.classes[i].resource)) durations[i] += from_us(host_us);
  }
  return durations;
}

// ---- what does not fit one rank and one clock ----

/// The most that an op ran on beside the next one of its rank.
std::int64_t check_overlaps(double action_ns, MeasuredRun& run) {
  const auto most = std::ranges::max_element(
      run.ranks, {}, [](const TracedRank& rank) { return rank.ops.overlap_ns; });
  const std::int64_t overlap_ns = most->ops.overlap_ns;
  if (static_cast<double>(overlap_ns) > 0.02 * action_ns) {
    run.notes.push_back(
        fmt::format("kernels of rank {} ran on beside its next op for up to {} µs, on other "
                    "streams: an op ends "
                    "where the next begins, and its tensors may leave before that",
                    most - run.ranks.begin(), number_text(static_cast<double>(overlap_ns) / 1e3)));
  }
  return overlap_ns;
}

/// Aligns the clocks of ranks whose tensors go both ways, and says so.
TransferTimes with_one_clock(TransferTimes transfers, MeasuredRun& run) {
  const Plan& plan = run.job.priced.plan;
  const std::int64_t overlap_ns = check_overlaps(transfers.action_ns, run);
  if (transfers.clock_error_ns > overlap_ns) run.clock_error_ns = transfers.clock_error_ns;
  run.clock_offsets_ns.assign(plan.ranks, 0);
  constexpr int most_rounds = 4;  // offsets change who seems to have waited
  for (int round = 0; round < most_rounds; ++round) {
    const std::vector<std::int64_t> offsets = clock_offsets(plan, transfers, overlap_ns);
    if (offsets.empty()) break;
    for (std::size_t i = 0; i < run.numbers.size(); ++i) {
      run.starts_ns[i] += align_clocks(plan, offsets, run.measured.iterations[i]);
    }
    for (std::size_t r = 0; r < offsets.size(); ++r) run.clock_offsets_ns[r] += offsets[r];
    transfers = transfer_times(plan, run.measured.iterations, run.measured.host);
  }
  std::vector<std::string> texts;
  for (std::size_t rank = 0; rank < plan.ranks; ++rank) {
    const double us = static_cast<double>(run.clock_offsets_ns[rank]) / 1e3;
    if (us != 0) texts.push_back(fmt::format("rank {} by {} µs", rank, number_text(us)));
  }
  if (!texts.empty()) {
    run.notes.push_back(
        fmt::format("clocks that are ahead of the first rank's are set back: {}; from what tensors "
                    "take in both directions",
                    fmt::join(texts, ", ")));
  }
  if (!run.ranks.front().ops.ops.front().step) {
    const std::vector<Time>& ends = run.measured.iterations.front().end;
    run.unaligned = far_clocks(run.clock_offsets_ns, to_ns(std::ranges::max(ends)));
  }
  if (run.unaligned.empty()) run.unaligned = unaligned_clocks(transfers, overlap_ns);
  if (!run.unaligned.empty()) run.notes.push_back(run.unaligned);
  return transfers;
}

void measure(const std::vector<RunIteration>& iterations, std::size_t chosen, MeasuredRun& run) {
  const Plan& plan = run.job.priced.plan;
  std::vector<RunIteration> taken;
  for (std::size_t i = 0; i < iterations.size(); ++i) {
    if (const auto why = why_left_out(iterations[i], run.order)) {
      run.left_out.push_back(fmt::format("step {}: {}", iterations[i].number, *why));
      continue;
    }
    if (i == chosen) run.chosen = run.measured.iterations.size();
    run.measured.iterations.push_back(actions_of(plan, iterations[i]));
    taken.push_back(iterations[i]);
    run.numbers.push_back(iterations[i].number);
    run.starts_ns.push_back(start_of(iterations[i]));
  }
  run.measured.tried = static_cast<std::uint32_t>(iterations.size());
  run.measured.complete = true;
  HostTimes hosts = host_times(plan, taken);
  run.host_us = hosts.typical_us;
  run.host_shares = std::move(hosts.by_rank);
  run.measured.host = std::move(hosts.after);
  TransferTimes transfers = transfer_times(plan, run.measured.iterations, run.measured.host);
  if (run.host_us == 0) {
    transfers = with_one_clock(std::move(transfers), run);
  } else {
    run.clock_error_ns = transfers.clock_error_ns;
  }
  for (Timeline& iteration : run.measured.iterations) place_transfers(plan, transfers, iteration);
  if (transfers.typical_ns) run.transfer_us = static_cast<double>(*transfers.typical_ns) / 1e3;
  run.slow_links = transfers.slow;
  run.times = op_times(plan, run.measured.iterations, run.host_us > 0);
  fill_job(run.times, transfers, run.job);
  run.measured.profile = with_host(run.job, run.host_us);
  if (plan.written || !why_not_relax(plan, {})) run.errors = run_errors(run.job, run.measured);
}

// ---- name of the order ----

void name_order(const std::optional<NamedOrder>& named, MeasuredRun& run) {
  const Schedule& seen = run.order.schedule;
  const bool as_named = named && seen == named->schedule;
  run.as_named = !named || as_named;
  if (!run.as_named) {
    run.notes.push_back(fmt::format("the order is not that of {}: {}", named->name,
                                    order_difference(seen, *named)));
  }
  run.schedule = as_named ? named->name : known_order(run.order);
  const std::uint32_t ranks = seen.ranks();
  const std::uint32_t stages = run.order.placement.stage_count();
  const std::uint32_t microbatches = microbatches_of(seen);
  run.chunks = std::max(1U, stages / ranks);
  run.job.priced.plan.schedule = run.schedule.value_or("traced order");
  run.title =
      fmt::format("{}, {} rank{}", run.job.priced.plan.schedule, ranks, ranks == 1 ? "" : "s");
  if (stages != ranks) run.title += fmt::format(", {} stages", stages);
  run.title += fmt::format(", {} microbatch{}", microbatches, microbatches == 1 ? "" : "es");
}

}  // namespace

const OpTimes* find_times(const std::vector<OpTimes>& times, std::uint32_t stage, Pass pass) {
  const auto found = std::ranges::find_if(
      times, [&](const OpTimes& op) { return op.model_stage == stage && op.pass == pass; });
  return found == times.end() ? nullptr : &*found;
}

void show_iteration(std::size_t iteration, MeasuredRun& run) {
  run.chosen = iteration;
  run.timeline = run.measured.iterations[run.chosen];
  run.timeline.iteration = run.numbers[run.chosen];
  run.timeline.environment["measured_by"] = "PyTorch profiler (Kineto)";
  run.timeline.environment[resolution_key] = "1ns";
  run.timeline.environment["times_of"] = text(run.ranks.front().ops.times);
  run.timeline.environment["transfers"] = "told from the ops at both ends";
  if (run.host_us > 0) {
    run.timeline.environment["host_us_between_ops"] = fmt::format("{:.3f}", run.host_us);
  }
  if (!run.unaligned.empty()) run.timeline.environment[unaligned_key] = run.unaligned;
  if (!run.ranks.front().device.empty()) {
    run.timeline.environment["device"] = run.ranks.front().device;
  }
}

MeasuredRun measured_run(std::vector<TracedRank> ranks, const std::optional<NamedOrder>& named,
                         std::optional<std::uint32_t> chosen) {
  MeasuredRun run;
  const std::vector<RunIteration> iterations = iterations_of(ranks, run.left_out);
  auto [place, order] = choose(iterations, named ? &named->placement : nullptr, chosen);
  run.ranks = std::move(ranks);
  run.order = std::move(order);
  // With gloo each tensor moves on its own.
  const auto has_gloo = [](const TracedRank& rank) { return rank.backend == "gloo"; };
  if (std::ranges::all_of(run.ranks, has_gloo)) take_communication(iterations[place], run);
  for (const TracedRank& rank : run.ranks) {
    for (const BrokenStep& broken : rank.ops.broken_steps) {
      run.left_out.push_back(fmt::format("{}: {}", rank.source, broken.why));
    }
  }
  run.job.priced.plan = plan_of(run.order);
  measure(iterations, place, run);
  name_order(named, run);
  show_iteration(run.chosen, run);
  return run;
}

}  // namespace penstock
