#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "experiments/input/files/table.hpp"
#include "experiments/run/changes/scenario_changes.hpp"
#include "experiments/show/explanation/explanation.hpp"
#include "sim/base/time_sum.hpp"
#include "sim/report/idle.hpp"
#include "sim/report/idle_sums.hpp"
#include "sim/report/report.hpp"

namespace penstock {
namespace {

constexpr double worth_saying = 0.01;  // as a share of the run

double of_makespan(TimeSum part, const Report& report) {
  return us_of(part) / to_us(report.makespan);
}

/// A share of the time of all ranks.
double of_all_ranks(TimeSum part, const Report& report) {
  return of_makespan(part, report) / static_cast<double>(report.ranks.size());
}

/// A way to shorten the run, and the share of time it concerns.
struct Advice {
  double share;
  std::string text;
};

/// Work of the busiest rank above the mean.
Advice imbalance(const Report& report) {
  const auto busiest = std::ranges::max_element(report.ranks, {}, &RankReport::busy);
  double mean_us = 0;
  for (const RankReport& rank : report.ranks) mean_us += to_us(rank.busy);
  mean_us /= static_cast<double>(report.ranks.size());
  const double above = (to_us(busiest->busy) - mean_us) / to_us(report.makespan);
  return {above,
          fmt::format("rank {} is busy {:.1f} % of the run longer than the mean: move layers off "
                      "it",
                      busiest - report.ranks.begin(), 100 * above)};
}

/// The share of the critical path that some passes take.
template <class Those>
double share_of_passes(const Explanation& explanation, const Report& report, Those those) {
  Time time{};
  for (const PathShare& share : explanation.shares) {
    if (those(share.pass)) time += share.time;
  }
  return of_makespan(time, report);
}

Advice transfers(const Explanation& explanation, const Report& report) {
  const double share = share_of_passes(
      explanation, report, [](Pass pass) { return is_transfer(pass) && !is_tail(pass); });
  return {share, fmt::format("transfers take {} of the critical path: use faster links, smaller "
                             "activations, or an order with a longer warm-up",
                             percent_text(share))};
}

/// How long a task of a link waits for slower data replicas: what its latency has beyond that of
/// its class.
Time wait_for_replicas(const RunResult& result, TaskId task) {
  const Costs& costs = result.costs;
  const std::uint32_t work = result.plan->work[task];
  const double stated = to_us(costs.duration[work]);
  const double factor = stated > 0 ? to_us(costs.duration_of(*result.plan, task)) / stated : 1;
  const Time own = from_us(to_us(costs.latency[work]) * factor);
  return std::max(Time{}, costs.latency_of(*result.plan, task) - own);
}

/// Of the critical path, what reductions and gathers of weights wait for slower data replicas.
Time waits_for_replicas(const RunResult& result) {
  Time waited{};
  if (!result.replica) return waited;
  for (const PathStep& step : result.report->critical_path) {
    if (!is_tail(result.plan->class_of(step.task).pass)) continue;
    waited += std::min(step.work(), wait_for_replicas(result, step.task));
  }
  return waited;
}

Advice slower_replicas(const RunResult& result) {
  const double share = of_makespan(waits_for_replicas(result), *result.report);
  return {share, fmt::format("gradient reduction and weight gathering wait for slower data "
                             "replicas during {} of the critical path: find out what slows them "
                             "down",
                             percent_text(share))};
}

/// The tail runs after the pipeline, so it overlaps with nothing. No link shortens a wait for other
/// replicas, which a recorded run, without a model, does not tell apart.
Advice tail(const RunResult& result, const Explanation& explanation) {
  const Report& report = *result.report;
  const double share = share_of_passes(explanation, report, is_tail) -
                       of_makespan(waits_for_replicas(result), report);
  const bool recorded = result.layout.model.layers.empty();
  return {
      share,
      fmt::format("gradient reduction and weight gathering take {} of the critical path: {}"
                  "use faster links between replicas, fewer replicas, or "
                  "/parallel/overlap_sums where it is off",
                  percent_text(share),
                  recorded ? "find out whether they wait for slower data replicas; if not, " : "")};
}

/// Whether the rule of the order places more chunks on each rank, and the layers fill them. Stages
/// that the model states have one layer each.
bool takes_more_chunks(const Layout& layout) {
  if (layout.rule == nullptr) return false;
  const std::uint32_t ranks = layout.placement.ranks();
  const std::uint32_t most = most_chunks(layout);
  for (std::uint32_t more = layout.placement.stage_count() / ranks + 1; more <= most; ++more) {
    if (takes_chunks(*layout.rule, ranks, more)) return true;
  }
  return false;
}

/// Whether equal stages idle less of the time under the rule of the order with more microbatches;
/// one without a closed form fills and drains once.
bool gains_by_microbatches(const Layout& layout) {
  if (layout.rule == nullptr) return false;
  const auto bubble = layout.rule->bubble_of_makespan;
  if (bubble == nullptr) return true;
  const std::uint32_t ranks = layout.placement.ranks(), m = layout.microbatches;
  const std::uint32_t chunks = layout.placement.stage_count() / ranks;
  return !(bubble(ranks, chunks, 2 * m) >= bubble(ranks, chunks, m));
}

Advice fill_and_drain(const RunResult& result, const Explanation& explanation) {
  const double ends = of_all_ranks(
      time_of(explanation.idle, IdleCause::warmup) + time_of(explanation.idle, IdleCause::drain),
      *result.report);
  return {ends, fmt::format("warm-up and drain idle {} of all ranks' time: use more microbatches{}",
                            percent_text(ends),
                            takes_more_chunks(result.layout) ? " or more chunks per rank" : "")};
}

/// "rank 0 waits longest, 4 µs": by one cause of idle time.
std::string longest_wait(const Report& report, Time IdleCauses::*cause) {
  const auto of = [&](const RankReport& rank) { return rank.idle_by_cause.*cause; };
  const auto longest = std::ranges::max_element(report.ranks, {}, of);
  const TimeUnit unit = unit_for(report.makespan);
  return fmt::format("rank {} waits longest, {} {}", longest - report.ranks.begin(),
                     short_time_text(of(*longest), unit), unit.name);
}

Advice dependencies(const RunResult& result, const Explanation& explanation) {
  const Report& report = *result.report;
  const double idle = of_all_ranks(time_of(explanation.idle, IdleCause::dependency), report);
  return {idle, fmt::format("waiting for actions of other ranks idles {} of all ranks' time; {}: "
                            "{}use {}another order",
                            percent_text(idle), longest_wait(report, &IdleCauses::dependency),
                            imbalance(report).share < worth_saying ? "" : "balance the stages, or ",
                            gains_by_microbatches(result.layout) ? "more microbatches or " : "")};
}

Advice launches(const Explanation& explanation, const Report& report) {
  const double launch = of_makespan(explanation.waits.launch, report);
  return {launch,
          fmt::format("the critical path waits for launches {} of the run: use fewer, longer "
                      "actions or captured graphs",
                      percent_text(launch))};
}

/// The busiest physical link shared by several pairs of ranks.
const NetworkLinkUse* busiest_shared_link(const RunResult& result) {
  const Network& network = result.conditions.network;
  std::map<std::string_view, std::uint32_t> pairs;
  for (const Route& route : network.routes) {
    for (const std::uint32_t link : std::set(route.begin(), route.end())) {
      ++pairs[network.links[link].name];
    }
  }
  const NetworkLinkUse* busiest = nullptr;
  for (const NetworkLinkUse& use : result.report->network) {
    if (pairs[use.name] < 2) continue;
    if (busiest == nullptr || use.utilization > busiest->utilization) busiest = &use;
  }
  return busiest;
}

/// The link with the most traffic, and its utilisation.
std::string busiest_link(const RunResult& result) {
  if (const NetworkLinkUse* shared = busiest_shared_link(result)) {
    return fmt::format("network link {} is {} utilised", shared->name,
                       percent_text(shared->utilization));
  }
  const Report& report = *result.report;
  const auto link = std::ranges::max_element(report.links, {}, &LinkReport::busy);
  return fmt::format("link {} is busy {} of the run", text(link->link),
                     percent_text(of_makespan(link->busy, report)));
}

Advice contention(const RunResult& result, const Explanation& explanation) {
  const Report& report = *result.report;
  if (report.links.empty()) return {0, ""};
  const double idle = of_all_ranks(time_of(explanation.idle, IdleCause::contention), report);
  const double on_path = of_makespan(explanation.waits.contention, report);
  return {std::max(idle, on_path),
          fmt::format("contention idles {} of all ranks' time and takes {} of the critical path; "
                      "{}: use more bandwidth there or smaller activations",
                      percent_text(idle), percent_text(on_path), busiest_link(result))};
}

Advice memory(const Explanation& explanation, const Report& report) {
  const double idle = of_all_ranks(time_of(explanation.idle, IdleCause::memory), report);
  const double on_path = of_makespan(explanation.waits.memory, report);
  return {std::max(idle, on_path),
          fmt::format("waiting for memory idles {} of all ranks' time and takes {} of the critical "
                      "path; {}: use recomputation or hold fewer activations",
                      percent_text(idle), percent_text(on_path),
                      longest_wait(report, &IdleCauses::memory))};
}

/// By rank: the actual duration of its actions over that of their classes.
std::vector<double> slowness_of_ranks(const Plan& plan, const Costs& costs) {
  std::vector<double> stated(plan.ranks), taken(plan.ranks);
  for (TaskId task = 0; task < plan.tasks(); ++task) {
    const std::uint32_t rank = plan.class_of(task).resource;
    if (plan.is_link(rank)) continue;
    stated[rank] += to_us(costs.duration[plan.work[task]]);
    taken[rank] += to_us(costs.duration_of(plan, task));
  }
  for (std::size_t r = 0; r < taken.size(); ++r)
    taken[r] = stated[r] > 0 ? taken[r] / stated[r] : 1;
  return taken;
}

/// The share of the run lost to the slowest rank, compared with the median rank; of one rank alone,
/// with its modelled time.
Advice straggler(const RunResult& result) {
  const std::vector<double> slowness = slowness_of_ranks(*result.plan, result.costs);
  std::vector<double> sorted = slowness;
  std::ranges::sort(sorted);
  const bool alone = sorted.size() == 1;
  const double usual = alone ? 1 : sorted[(sorted.size() - 1) / 2];
  const auto slowest = std::ranges::max_element(slowness);
  const auto rank = static_cast<std::size_t>(slowest - slowness.begin());
  const double lost =
      *slowest > usual ? to_us(result.report->ranks[rank].busy) * (1 - usual / *slowest) : 0;
  return {
      lost / to_us(result.report->makespan),
      fmt::format("actions of rank {}{} take {:.3g}× their modelled time{}: find out what slows "
                  "it down",
                  rank, result.replica ? fmt::format(" of data replica {}", *result.replica) : "",
                  *slowest, alone ? "" : fmt::format(", those of the median rank {:.3g}×", usual))};
}

}  // namespace

std::string lack_text(const RunResult& result) {
  const auto worst = std::ranges::max_element(result.memory, {}, &JudgedMemory::peak_bytes);
  return fmt::format("it does not fit, rank {} needs {}, {} too much",
                     worst - result.memory.begin(), bytes_text(worst->peak_bytes),
                     bytes_text(worst->peak_bytes - *result.layout.memory.usable_bytes()));
}

std::vector<std::string> advice_for(const RunResult& result, const Explanation& explanation) {
  if (does_not_fit(result)) {
    return {lack_text(result) + ": penstock explain --memory lists changes that make it fit"};
  }
  const Report& report = *result.report;
  if (report.makespan == Time{}) return {};
  std::vector<Advice> all{imbalance(report),
                          transfers(explanation, report),
                          tail(result, explanation),
                          slower_replicas(result),
                          fill_and_drain(result, explanation),
                          dependencies(result, explanation),
                          launches(explanation, report),
                          contention(result, explanation),
                          memory(explanation, report),
                          straggler(result)};
  std::ranges::stable_sort(all, std::greater{}, &Advice::share);
  std::vector<std::string> texts;
  for (const Advice& one : all) {
    if (one.share >= worth_saying) texts.push_back(one.text);
  }
  return texts;
}

}  // namespace penstock
