#include "experiments/run/layout/cut.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <set>

#include "experiments/input/files/table.hpp"
#include "experiments/run/layout/pipeline_ranks.hpp"
#include "experiments/run/layout/stage_demand.hpp"
#include "hardware_models/registry.hpp"
#include "schedules/partitioners/registry.hpp"
#include "sim/base/error.hpp"
#include "sim/base/named.hpp"

namespace penstock {
namespace {

void check_stages(const Scenario& scenario, const Layout& layout, std::uint32_t stages) {
  if (const auto given = stages_given(scenario); given && *given != stages) {
    const std::uint32_t ranks = layout.placement.ranks();
    // Ranks of a file, of the user, and of a module are not those of /parallel or the devices.
    const bool placed =
        !scenario.schedule.file.empty() || !scenario.partition.ranks.empty() || !scenario.document;
    throw InputError(
        scenario.model.stages_given && scenario.partition.stages.empty() ? "/model/stages"
        : scenario.partition.stated                                      ? "/partition/stages"
                                                                         : "/model/file",
        fmt::format(
            "it has {}, but the schedule has {} on {}{}", counted(*given, "stage"),
            counted(stages, "model stage"), counted(ranks, "rank"),
            placed ? "" : remedy_for_stages(scenario, layout.degrees, *given, stages / ranks)));
  }
}

CutTransfers transfers_of(const CutProblem& problem) {
  const bool known = problem.bandwidth_bytes_per_s.has_value() || problem.latency_s > 0;
  return problem.settings.transfers.value_or(known ? CutTransfers::overlap : CutTransfers::none);
}

/// Adds what is known beside the layers.
void add_sizes(const CutSizes& sizes, const DeviceMemory& memory, CutProblem& problem) {
  problem.stages = sizes.stages;
  problem.ranks = sizes.ranks;
  problem.chunks = std::max(1U, sizes.stages / sizes.ranks);
  problem.microbatches = sizes.microbatches;
  problem.latency_s = sizes.latency_s;
  problem.bandwidth_bytes_per_s = sizes.bandwidth_bytes_per_s;
  std::size_t shares = problem.chunks;  // of a rank, among its stages
  for (const RankHolds& rank : problem.holds) shares = std::max(shares, rank.stages.size());
  if (const auto most = memory.usable_bytes()) {
    problem.rank_bytes = std::max(0.0, static_cast<double>(*most) - memory.context_bytes);
    problem.memory_bytes = problem.rank_bytes / static_cast<double>(shares);
  }
}

/// What the devices of a rank keep of each layer, with the layout's ZeRO.
void add_states(const Layout& layout, ModelToCut& model) {
  const DeviceMemory& memory = layout.memory;
  if (memory.kept.parameter == 0) return;
  Training training{.data = layout.degrees.data,
                    .shard_groups = memory.shard_groups,
                    .gradient_factor = 0,
                    .zero = memory.zero};
  if (layout.schedule.has_backward()) {
    training.gradient_factor = memory.kept.gradient / memory.kept.parameter;
    training.optimizer_factor = memory.kept.optimizer_factor();
  }
  training.whole_gradients =
      layout.communication.gradients ||
      keeps_whole_gradients(memory, memory.zero, layout.placement.ranks(), layout.microbatches);
  std::size_t holders = layout.placement.ranks();  // of any stage, at least
  for (const auto& ranks : ranks_by_model_stage(layout.placement)) {
    holders = std::min(holders, ranks.size());
  }
  for (std::uint32_t i = 0; i < model.problem.size(); ++i) {
    const Layer& layer = layout.model.layers[index(model.layers[i].front())];
    if (layer.parameter_bytes == 0) continue;
    model.problem.layers[i].state_factor =
        state_bytes(layer, holders, training) / layer.parameter_bytes;
  }
}

bool is_alike(const CutLink& one, const CutLink& other) {
  return one.latency_s == other.latency_s &&
         one.bandwidth_bytes_per_s == other.bandwidth_bytes_per_s;
}

CutLink link_between(const HardwareModel& hardware, Rank from, Rank to) {
  constexpr double bytes = 64 * 1024 * 1024;
  const TransferTime time = hardware.transfer(bytes, from, to);
  CutLink link{from, to, time.latency_us / 1e6, {}};
  if (time.occupies_us > 0) link.bandwidth_bytes_per_s = bytes / time.occupies_us * 1e6;
  return link;
}

/// The links of neighbours in a chain, both ways, where they are not all as the first.
void add_links(const HardwareModel& hardware, const Layout& layout, CutProblem& problem) {
  const Placement& placement = layout.placement;
  if (placement.ranks() < 2) return;
  std::vector<CutLink> links;
  const auto add = [&](Rank from, Rank to) {
    CutLink& link = links.emplace_back(link_between(hardware, from, to));
    for (const SlowLink& slow : layout.chance.slow_links) {
      if (slow.from != from || slow.to != to) continue;
      link.latency_s *= slow.factor;
      if (link.bandwidth_bytes_per_s) *link.bandwidth_bytes_per_s /= slow.factor;
    }
  };
  for (const Stage stage : placement.stages()) {
    const auto next = placement.after(stage);
    // Replicas of a stage take microbatches in turn.
    const std::uint32_t pairs = next ? placement.replicas(stage) * placement.replicas(*next) : 0;
    for (const Microbatch microbatch : Numbers<Microbatch>(pairs)) {
      const Rank from = placement.rank_of(stage, microbatch);
      const Rank to = placement.rank_of(*next, microbatch);
      if (from == to) continue;
      add(from, to);
      add(to, from);
    }
  }
  const CutLink usual = link_between(hardware, Rank{0}, Rank{1});
  const auto differs = [&](const CutLink& one) { return !is_alike(one, usual); };
  if (std::ranges::any_of(links, differs)) problem.links = std::move(links);
}

/// How slow a rank is for the whole run, in the slowest of its replicas.
double slowness_of(Rank rank, const Layout& layout) {
  const std::vector<Straggler>& all = layout.chance.stragglers;
  const auto in_replica = [&](std::optional<std::uint32_t> replica) {
    double factor = 1;
    for (const Straggler& one : all) {
      const bool lasts = one.from == Microbatch{0} && one.until == Microbatch{UINT32_MAX};
      const bool here = !one.replica || one.replica == replica;
      if (one.rank == rank && lasts && here) factor *= one.factor;
    }
    return factor;
  };
  std::set<std::uint32_t> named;
  for (const Straggler& one : all) {
    if (one.replica) named.insert(*one.replica);
  }
  double slowest = named.size() < layout.degrees.data ? in_replica({}) : 0;
  for (const std::uint32_t replica : named) slowest = std::max(slowest, in_replica(replica));
  return slowest;
}

void add_slowness(const Layout& layout, CutProblem& problem) {
  if (layout.chance.stragglers.empty()) return;
  for (const Rank rank : Numbers<Rank>(layout.placement.ranks())) {
    problem.slowness.push_back(slowness_of(rank, layout));
  }
}

/// What a cut depends on in an order. Under a policy the schedule lists actions in no order.
void add_order(const HardwareModel& hardware, const Layout& layout, CutProblem& problem) {
  if (layout.policy != nullptr) return;
  problem.schedule = &layout.schedule;
  problem.placement = &layout.placement;
  problem.holds = holds_of(layout.schedule, layout.placement);
  problem.most_cells = most_cells(problem.holds);
  problem.most_older = most_older(problem.holds);
  add_links(hardware, layout, problem);
  add_slowness(layout, problem);
}

/// Rules of schedules may not allow the problem's sizes.
Cut cut_of(const PartitionerEntry& entry, const CutProblem& problem) {
  try {
    return entry.cut(problem);
  } catch (const RuleError& error) {
    throw InputError("/partition/name", fmt::format("{}: {}", entry.name, error.what()));
  }
}

Partition cut_by_name(const PartitionSection& section, const Layout& layout, std::uint32_t stages) {
  const PartitionerEntry* entry = find_named(partitioner_entries(), section.name);
  std::unique_ptr<HardwareModel> hardware;
  PassTimes times;
  if (entry->needs_costs) {
    hardware =
        find_named(cost_model_entries(), layout.hardware.cost_model)->make(layout.hardware.spec);
    times = times_to_cut(
        [&](const Layer& layer, Pass pass) { return hardware->compute_us(layer, pass); },
        layout.recompute);
  }
  ModelToCut model = model_to_cut(layout.model, times);
  add_states(layout, model);
  if (entry->follows_order) add_order(*hardware, layout, model.problem);
  CutSizes sizes{stages, layout.placement.ranks(), layout.microbatches * layout.slices};
  if (entry->needs_costs) add_link(*hardware, sizes);
  return cut_by(*entry, section.settings, sizes, layout.memory, std::move(model));
}

Partition cut_into(const Scenario& scenario, const Layout& layout, std::uint32_t stages) {
  Partition partition;
  if (!scenario.partition.stages.empty()) {
    partition.stages = scenario.partition.stages;
    check_partition(layout.model, partition);
    return partition;
  }
  if (scenario.model.stages_given) {
    for (LayerIndex layer : Numbers<LayerIndex>(stages)) partition.stages.push_back({layer});
    return partition;
  }
  return cut_by_name(scenario.partition, layout, stages);
}

constexpr std::uint32_t nowhere = UINT32_MAX;

/// The layers that are planned, in the order of their numbers.
std::vector<LayerIndex> planned(const ModelGraph& model, const std::vector<std::uint64_t>& numbers,
                                const std::vector<bool>& dropped) {
  std::vector<LayerIndex> layers;
  for (const LayerIndex layer : Numbers<LayerIndex>(std::uint32_t(model.layers.size()))) {
    if (dropped.empty() || !dropped[index(layer)]) layers.push_back(layer);
  }
  if (!numbers.empty()) {
    std::ranges::stable_sort(layers, {}, [&](LayerIndex layer) { return numbers[index(layer)]; });
  }
  return layers;
}

/// Positions of layers in a topological order of the planned ones, smallest number first.
std::vector<std::uint32_t> positions(const ModelGraph& model,
                                     const std::vector<LayerIndex>& layers) {
  std::vector<std::uint32_t> place(model.layers.size(), nowhere);
  for (std::uint32_t i = 0; i < layers.size(); ++i) place[index(layers[i])] = i;
  ModelGraph reduced;
  reduced.layers.resize(layers.size());
  for (const auto& [from, to] : model.edges) {
    const std::uint32_t a = place[index(from)];
    const std::uint32_t b = place[index(to)];
    if (a != nowhere && b != nowhere) reduced.edges.emplace_back(LayerIndex{a}, LayerIndex{b});
  }
  std::vector<std::uint32_t> position(model.layers.size(), nowhere);
  std::uint32_t next = 0;
  for (const LayerIndex layer : topological_order(reduced)) {
    position[index(layers[index(layer)])] = next++;
  }
  return position;
}

double seconds(std::optional<double> us) { return us.value_or(0) / 1e6; }

/// Puts layers that are not planned beside those that are.
void join(const ModelGraph& model, std::vector<std::uint32_t>& position) {
  std::vector<std::uint32_t> first(position.size(), nowhere);
  std::vector<std::uint32_t> last(position.size(), nowhere);
  for (const auto& [from, to] : model.edges) {
    const std::uint32_t reader = position[index(to)];
    const std::uint32_t writer = position[index(from)];
    std::uint32_t& earliest = first[index(from)];
    std::uint32_t& latest = last[index(to)];
    if (reader != nowhere) earliest = std::min(earliest, reader);
    if (writer != nowhere) latest = latest == nowhere ? writer : std::max(latest, writer);
  }
  for (std::size_t i = 0; i < position.size(); ++i) {
    if (position[i] != nowhere) continue;
    position[i] = last[i] != nowhere ? last[i] : first[i] != nowhere ? first[i] : 0;
  }
}

}  // namespace

Partition cut_model(const Scenario& scenario, const Layout& layout) {
  const auto stages = static_cast<std::uint32_t>(layout.placement.chains().front().size());
  check_stages(scenario, layout, stages);
  Partition partition = cut_into(scenario, layout, stages);
  partition.ranks = scenario.partition.ranks;
  return partition;
}

void add_link(const HardwareModel& hardware, CutSizes& sizes) {
  if (sizes.ranks < 2) return;
  const CutLink link = link_between(hardware, Rank{0}, Rank{1});
  sizes.latency_s = link.latency_s;
  sizes.bandwidth_bytes_per_s = link.bandwidth_bytes_per_s;
}

Partition cut_by(const PartitionerEntry& entry, const CutSettings& settings, const CutSizes& sizes,
                 const DeviceMemory& memory, ModelToCut model) {
  CutProblem& problem = model.problem;
  add_sizes(sizes, memory, problem);
  problem.settings = settings;
  // The placement of the order decides which rank runs a stage.
  problem.settings.keep_order = true;
  problem.settings.contiguous = true;
  problem.transfers = transfers_of(problem);
  Cut cut = cut_of(entry, problem);
  if (!cut.finding.empty()) {
    // The run reports what does not fit, rank by rank.
    problem.memory_bytes.reset();
    problem.settings.memories.clear();
    cut = cut_of(entry, problem);
  }
  if (cut.stages.size() == sizes.stages) return partition_of(cut, model);
  throw InputError("/partition/name",
                   fmt::format("{} makes {} here, but the schedule has {}", entry.name,
                               counted(cut.stages.size(), "stage"), sizes.stages));
}

PassTimes times_to_cut(const PassTimes& own, const RecomputeSection& recompute) {
  return [own, recompute](const Layer& layer, Pass pass) {
    std::optional<double> time = own(layer, pass);
    const bool again = recompute.mode != RecomputeMode::none &&
                       (recompute.mode.has_value() || layer.recompute_us > 0);
    if (time && again && gives_gradient(pass)) *time += own(layer, Pass::recompute).value_or(0);
    return time;
  };
}

CutLayer layer_to_cut(const Layer& layer, const PassTimes& times) {
  CutLayer cut{.output_bytes = layer.activation_bytes,
               .parameter_bytes = layer.parameter_bytes,
               .stash_bytes = layer.stash_bytes,
               .recomputed_bytes = layer.recomputed_bytes,
               .workspace_bytes = layer.workspace_bytes,
               .counted = layer.cut_evenly};
  if (!times) return cut;
  cut.forward_s = seconds(times(layer, Pass::forward));
  cut.backward_s = seconds(times(layer, Pass::backward));
  cut.input_s = seconds(times(layer, Pass::backward_input));
  cut.weight_s = seconds(times(layer, Pass::backward_weight));
  return cut;
}

ModelToCut model_to_cut(const ModelGraph& model, const PassTimes& times,
                        const std::vector<std::uint64_t>& numbers,
                        const std::vector<bool>& dropped) {
  const std::vector<LayerIndex> layers = planned(model, numbers, dropped);
  std::vector<std::uint32_t> position = positions(model, layers);
  ModelToCut result;
  result.problem.layers.resize(layers.size());
  result.layers.resize(layers.size());
  for (const LayerIndex layer : layers) {
    result.problem.layers[position[index(layer)]] = layer_to_cut(model.layers[index(layer)], times);
  }
  for (const auto& [from, to] : model.edges) {
    const std::uint32_t a = position[index(from)];
    const std::uint32_t b = position[index(to)];
    if (a != nowhere && b != nowhere) result.problem.edges.emplace_back(a, b);
  }
  join(model, position);
  for (std::uint32_t i = 0; i < position.size() && !layers.empty(); ++i) {
    result.layers[position[i]].push_back(LayerIndex{i});
  }
  return result;
}

Partition partition_of(const Cut& cut, const ModelToCut& model) {
  Partition partition;
  for (const CutStage& stage : cut.stages) {
    std::vector<LayerIndex>& layers = partition.stages.emplace_back();
    for (const std::uint32_t position : stage.layers) {
      const std::vector<LayerIndex>& own = model.layers[position];
      layers.insert(layers.end(), own.begin(), own.end());
    }
  }
  return partition;
}

}  // namespace penstock
