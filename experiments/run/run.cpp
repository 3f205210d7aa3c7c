#include "experiments/run/run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <utility>

#include "experiments/input/files/files.hpp"
#include "experiments/input/files/table.hpp"
#include "experiments/input/profiles/profile_rows.hpp"
#include "experiments/run/chain.hpp"
#include "experiments/run/chance_notes.hpp"
#include "experiments/run/codec_report.hpp"
#include "experiments/run/layout/codec_costs.hpp"
#include "experiments/run/layout/stage_demand.hpp"
#include "experiments/run/layout/training.hpp"
#include "experiments/run/stage_formats.hpp"
#include "sim/base/error.hpp"
#include "sim/costs/collective_times.hpp"
#include "sim/engines/replicas.hpp"
#include "sim/order/weight_versions.hpp"
#include "sim/report/report.hpp"
#include "validate/machine/host.hpp"
#include "validate/store/environment_keys.hpp"

namespace penstock {
namespace {

/// Notes that gradient reduction does not overlap with compute.
void note_sums(RunResult& result) {
  const Layout& layout = result.layout;
  const bool sums = shares_weights(layout) && layout.schedule.has_backward();
  if (layout.degrees.overlaps_sums || layout.communication.gradients || !sums) return;
  result.notes.emplace_back(
      layout.memory.zero < 2 || (layout.memory.zero == 2 && result.training.whole_gradients)
          ? "gradients are reduced after a rank's last backward (/parallel/overlap_sums)"
          : "each pass waits for its own collectives (/parallel/overlap_sums)");
}

/// The time of a sum of gradients over the ranks that hold a model stage; nothing where stated
/// routes lead no such way.
Time time_of_sum(const RunResult& result, std::uint32_t stage) {
  const Demand& demand = result.demand;
  const std::vector<StageCollective> sum{
      {CollectiveKind::all_reduce, result.training.gradient_factor}};
  const auto hardware = hardware_of(result.layout);
  const std::vector<Rank>& ranks = demand.stages[stage].ranks;
  const Carried carried = carried_by(sum, demand.stages[stage], demand.replicas);
  try {
    const TransferTime time =
        CollectiveTimes(demand, *hardware).of(stage, sum, carried, {ranks[0], ranks[1]});
    return from_us(time.occupies_us + time.latency_us);
  } catch (const InputError&) {
    return {};
  }
}

/// Notes that an order without flushes sums gradients over the ranks of one stage at no cost. Of
/// several such stages it names the one with the most bytes.
void note_free_sums(RunResult& result) {
  if (!result.layout.schedule.has(Pass::update)) return;
  const std::vector<StageDemand>& stages = result.demand.stages;
  std::uint32_t largest = 0;
  double most = 0;
  for (std::uint32_t stage = 0; stage < stages.size(); ++stage) {
    if (stages[stage].ranks.size() < 2 || stages[stage].parameter_bytes <= most) continue;
    largest = stage;
    most = stages[stage].parameter_bytes;
  }
  if (most == 0) return;
  const Time time = time_of_sum(result, largest);
  result.notes.push_back(fmt::format(
      "gradients of replicated stages are summed at no cost, since the order has no flush: for "
      "stage {}, {} over {} ranks{} each time",
      largest, bytes_text(static_cast<std::uint64_t>(most * result.training.gradient_factor)),
      stages[largest].ranks.size(), time == Time{} ? "" : " and " + short_time_text(time)));
}

/// Notes which data replica is shown, and how many stand for all.
void note_replicas(RunResult& result) {
  if (!result.replica) return;
  const Layout& layout = result.layout;
  if (*result.replica != 0 && !result.batch) {
    result.notes.push_back(
        fmt::format("data replica {} ends last: the report shows it", *result.replica));
  }
  const std::uint32_t drawn = drawn_replicas(*result.plan, layout.degrees.data);
  if (drawn == layout.degrees.data) return;
  result.notes.push_back(
      fmt::format("{} of {} data replicas are drawn and wait for each other; of all, one may be "
                  "slower still",
                  drawn, layout.degrees.data));
}

/// Notes whether layer times are those of this machine, as they were measured, and those of a run.
void note_conditions(RunResult& result) {
  const auto in_run = std::ranges::count_if(result.profile_rows, was_in_run);
  if (result.profile_rows.empty()) return;
  const Profile& profile = *result.layout.hardware.spec.profile;
  static const std::string here = environment_title(host_environment());
  if (const std::string there = environment_title(profile.environment);
      !profile.environment.empty() && there != here) {
    result.notes.push_back(fmt::format("layer times are of {}; this is {}", there, here));
  }
  if (profile.unchecked) {
    result.notes.push_back(
        fmt::format("{} has no checksum: whether it was changed is unknown", profile.source));
  }
  if (in_run == std::ssize(result.profile_rows)) {
    result.notes.emplace_back("layer times were measured in runs of 1f1b");
    return;
  }
  result.notes.emplace_back(fmt::format(
      "{} layer times were measured alone; a run takes longer where cores share caches (penstock "
      "calibrate --layers-of measures both)",
      in_run == 0 ? "all" : "some"));
}

/// Adds weight versions, and the steady interval of a pipeline without flushes.
void add_weights(RunResult& result) {
  const Layout& layout = result.layout;
  if (layout.schedule.weights().use == WeightUse::flushed) return;
  const auto weights = weight_versions_by_rank(layout.schedule, layout.placement);
  for (std::size_t r = 0; r < weights.size(); ++r) result.report->ranks[r].weights = weights[r];
  result.steady_interval_us = steady_interval_us(*result.plan, result.timeline);
}

/// The finding for a rank that runs out of memory, and when it first did.
Finding out_of_memory(const RunResult& result, Rank rank, Time first, std::uint64_t capacity) {
  const std::uint64_t needed = result.memory[index(rank)].peak_bytes;
  const std::uint64_t reserved = result.layout.memory.reserved_bytes();
  const TimeUnit unit = unit_for(result.report->makespan);
  const std::string apart =
      reserved == 0 ? "" : fmt::format(" ({} reserved)", bytes_of_rank_text(reserved, capacity));
  return {"out_of_memory", rank, first,
          fmt::format("rank {} needs {} of {}{}: {} over from {} {} on", index(rank),
                      bytes_of_rank_text(needed, capacity), bytes_of_rank_text(capacity, capacity),
                      apart, bytes_of_rank_text(needed - (capacity - reserved), capacity),
                      time_text(first, unit), unit.name)};
}

/// Judges each rank by what it needs in any data replica.
void judge_memory(RunResult& result) {
  const MemoryJudge judge = judge_of(result.layout);
  const auto& ranks = result.report->ranks;
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    std::vector<MemoryPeak> peaks{ranks[rank].memory};
    if (result.batch) peaks.push_back(result.batch->peaks[rank]);
    const PeakInterval interval = judge.interval(peaks);
    const auto highest = std::ranges::max(peaks, {}, &MemoryPeak::bytes);
    result.memory.push_back({interval, judge.word(interval), highest.bytes});
  }
}

/// Adds a finding where a replica that the run does not show needs more memory than there is.
void add_finding_of_batch(RunResult& result) {
  const auto largest = result.layout.memory.largest_peak_bytes();
  if (!result.batch || !largest || !result.findings.empty()) return;
  const BatchPeak& peak = result.batch->peak;
  if (peak.bytes <= *largest) return;
  const std::uint64_t capacity = *result.layout.memory.capacity_bytes;
  result.findings.push_back({"out_of_memory",
                             {},
                             peak.time,
                             fmt::format("rank {} of replica {} needs {} of {}", index(peak.rank),
                                         peak.replica, bytes_of_rank_text(peak.bytes, capacity),
                                         bytes_of_rank_text(capacity, capacity))});
}

/// Adds a finding for each rank of a finished run that does not fit in its memory, worst first.
void add_memory_findings(RunResult& result) {
  const auto& capacity = result.layout.memory.capacity_bytes;
  if (!capacity) return;
  const std::uint64_t largest = *result.layout.memory.largest_peak_bytes();
  const bool fits = std::ranges::none_of(
      result.report->ranks, [&](const RankReport& rank) { return rank.memory.bytes > largest; });
  if (fits) return add_finding_of_batch(result);
  const auto first = first_above(*result.plan, result.costs, result.timeline, largest);
  for (Rank rank : Numbers<Rank>(result.plan->ranks)) {
    if (!first[index(rank)]) continue;
    result.findings.push_back(out_of_memory(result, rank, *first[index(rank)], *capacity));
  }
  std::ranges::stable_sort(result.findings, std::greater{}, [&](const Finding& finding) {
    return result.memory[index(*finding.rank)].peak_bytes;
  });
  add_finding_of_batch(result);
}

/// Simulates the layout of a result. Returns why the run cannot finish.
std::optional<Finding> simulate(Chain& chain, const RunOptions& options, RunResult& result) {
  Layout& layout = result.layout;
  const Simulation simulation(layout, options.engine);
  result.peak_flops = simulation.hardware().peak_flops();
  std::optional<Schedule> chosen;
  auto order = chain.priced(simulation, layout, chosen);
  if (auto* finding = std::get_if<Finding>(&order)) return std::move(*finding);
  PricedPlan& priced = std::get<PricedPlan>(order);
  const bool serves_again = options.repeat > 0 || layout.documents.has_value();
  auto first = serves_again ? simulation.simulate(priced) : simulation.simulate(std::move(priced));
  if (auto* finding = std::get_if<Finding>(&first)) return std::move(*finding);
  auto& [drawn, timeline, peak_flops, batch, replica] = std::get<Simulated>(first);
  if (options.repeat > 0) {
    result.repeated = distribution_of(makespans_of_draws(
        options.repeat, varies(layout),
        [&](std::uint32_t draw) { return simulation.makespan_of_draw(priced, draw); },
        options.on_progress));
  }
  if (layout.degrees.data > 1 && (batch || layout.chance.differs_among_replicas())) {
    result.replica = replica;
  }
  if (batch) {
    result.batch = batch_report(layout, simulation, priced, *batch,
                                {makespan(drawn.plan, timeline), replica}, options.splits_losses);
  }
  result.timeline = std::move(timeline);
  result.plan = std::move(drawn.plan);
  result.costs = std::move(drawn.costs);
  result.conditions = std::move(drawn.conditions);
  if (chosen) layout.schedule = *std::move(chosen);
  return std::nullopt;
}

void add_report(RunResult& result) {
  const Layout& layout = result.layout;
  const Plan& plan = *result.plan;
  result.training = training_of(layout);
  result.demand = demand_of(plan, layout.model, layout.partition, result.training);
  result.report = summarize(plan, result.costs, result.timeline, result.conditions);
  const Time makespan = result.report->makespan;
  result.report->network = network_use(plan, result.costs, result.conditions.network, makespan);
  result.throughput =
      throughput_of(layout, result.batch ? std::optional(result.batch->batch) : std::nullopt, plan,
                    makespan, result.peak_flops);
  result.notes = layout.notes;
  if (layout.hardware.spec.profile) {
    result.profile_rows = rows_used(*layout.hardware.spec.profile, layout.model);
    note_conditions(result);
  }
  note_sums(result);
  note_free_sums(result);
  const auto idle = chance_without_effect(*result.plan, layout);
  result.notes.insert(result.notes.end(), idle.begin(), idle.end());
  note_replicas(result);
  if (layout.overheads.warm_up_us.value_or(0) > 0) {
    result.first_iteration_us = to_us(makespan) + *layout.overheads.warm_up_us;
  }
  add_weights(result);
  judge_memory(result);
  add_memory_findings(result);
}

/// Runs a layout with one stash encoding throughout.
RunResult run_once(Chain& chain, Layout layout, const RunOptions& options) {
  RunResult result;
  result.title = title_of(layout);
  result.layout = with_codecs(std::move(layout));
  try {
    if (auto finding = simulate(chain, options, result)) {
      result.findings.push_back(std::move(*finding));
      return result;
    }
  } catch (const InputError& error) {
    throw in_file(result.layout.source, error);
  }
  add_report(result);
  result.training_cost = cost_of(options.training, result.throughput, devices_of(result.layout),
                                 watts_of(result.layout));
  return result;
}

Layout with_stash(const Layout& layout, const Encoding& stash) {
  Layout one = layout;
  one.codec.phases.clear();
  one.codec.stash = stash;
  return one;
}

CodedIteration iteration_of(const RunResult& result) {
  CodedIteration iteration;
  iteration.stash = result.layout.codec.stash;
  iteration.bits_per_value = 8 * plain_value_bytes(result.layout);
  if (!result.report) return iteration;
  if (!result.layout.codings.empty()) {
    iteration.bits_per_value = stash_bits(codec_report(result.layout));
  }
  iteration.makespan = result.report->makespan;
  iteration.peak_rank = index(worst_of(*result.report));
  iteration.peak_bytes = result.report->ranks[iteration.peak_rank].memory.bytes;
  return iteration;
}

/// Adds the findings of a phase that the training reaches, with its number in front.
void add_findings(std::size_t phase, const CodecPhase& made_of, const RunResult& result,
                  std::vector<Finding>& findings) {
  if (made_of.iterations == 0) return;
  for (Finding finding : result.findings) {
    finding.text =
        fmt::format("phase {} ({}): {}", phase, encoding_text(made_of.stash), finding.text);
    findings.push_back(std::move(finding));
  }
}

/// Runs a layout whose stash is encoded in phases: once for each phase and once without a codec.
/// The result is that of the first phase, with the findings of all and `codec_training`.
RunResult run_in_phases(Chain& chain, const Layout& layout, const RunOptions& options) {
  const RunOptions once{.engine = options.engine};
  CodecTraining training;
  training.capacity_bytes = layout.memory.capacity_bytes;
  RunResult first;
  std::vector<Finding> findings;
  std::uint64_t begin = 0;
  for (std::size_t p = 0; p < layout.codec.phases.size(); ++p) {
    const CodecPhase& phase = layout.codec.phases[p];
    RunResult result = run_once(chain, with_stash(layout, phase.stash), p == 0 ? options : once);
    add_findings(p, phase, result, findings);
    training.phases.push_back({begin, phase.iterations, iteration_of(result)});
    begin += phase.iterations;
    if (p == 0) first = std::move(result);
  }
  training.plain = iteration_of(run_once(chain, with_stash(layout, {}), once));
  first.findings = std::move(findings);
  first.codec_training = std::move(training);
  return first;
}

}  // namespace

JudgedMemory worst_memory(const RunResult& result) {
  JudgedMemory worst;
  for (const JudgedMemory& one : result.memory) {
    worst.interval.least = std::max(worst.interval.least, one.interval.least);
    worst.interval.most = std::max(worst.interval.most, one.interval.most);
    worst.word = std::max(worst.word, one.word);
    worst.peak_bytes = std::max(worst.peak_bytes, one.peak_bytes);
  }
  return worst;
}

Rank worst_of(const Report& report) {
  const auto found = std::ranges::max_element(
      report.ranks, {}, [](const RankReport& rank) { return rank.memory.bytes; });
  return Rank{static_cast<std::uint32_t>(found - report.ranks.begin())};
}

Time step_of(const RunResult& run) {
  return run.repeated && run.repeated->mean ? from_us(*run.repeated->mean) : run.report->makespan;
}

bool all_draws_end(const RunResult& run) {
  return !run.repeated || run.repeated->sorted.size() == run.repeated->makespans.size();
}

bool varies(const Layout& layout) {
  if (layout.chance.varies()) return true;
  if (!layout.documents) return false;
  const DocumentLengths& lengths = layout.documents->lengths;
  const bool all_alike = lengths.law == LengthLaw::fixed || lengths.histogram.size() == 1;
  return !all_alike || layout.documents->router.has_value();
}

std::string bytes_of_rank_text(std::uint64_t bytes, std::uint64_t capacity) {
  constexpr double gib = 1073741824.0;
  if (static_cast<double>(capacity) < gib) return bytes_text(bytes);
  return number_text(static_cast<double>(bytes) / gib) + " GiB";
}

RunResult run(Chain& chain, Layout layout, const RunOptions& options) {
  if (!options.settled) check_layout(layout);
  if (!layout.codec.phases.empty()) return run_in_phases(chain, layout, options);
  return run_once(chain, std::move(layout), options);
}

RunResult run(Layout layout, const RunOptions& options) {
  Chain chain;
  return run(chain, std::move(layout), options);
}

RunResult run(const Scenario& scenario, const RunOptions& options) {
  RunOptions own = options;
  own.settled = true;
  return run(settle(scenario), own);
}

}  // namespace penstock
