#include "schedules/partitioners/graph/graph_cut.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "schedules/registry.hpp"
#include "sim/base/error.hpp"
#include "sim/base/named.hpp"

namespace penstock {
namespace {

/// The best cut of several chains.
struct ChainCut {
  IdealSpace space;
  ReplicatedCut cut;
};

ChainCut best_chain(const CutProblem& problem, const ReplicaPrices& prices, std::uint32_t devices,
                    bool replicas) {
  ChainCut best;
  for (const std::vector<std::uint32_t>& order : several_orders(problem)) {
    IdealSpace space = ideals_of_order(problem, order);
    if (problem.settings.published) space.boundary_bytes = published_boundaries(problem, space);
    ReplicatedCut cut = replicated_cut(space, prices, devices, replicas, best.cut.value);
    if (cut.stages.empty() || cut.value >= best.cut.value) continue;
    best = {std::move(space), std::move(cut)};
  }
  return best;
}

void check_stages(const CutProblem& problem, std::uint32_t devices, bool replicas) {
  if (replicas || problem.size() >= devices) return;
  throw InputError("/model", fmt::format("{} stages need at least one layer each, got {}", devices,
                                         problem.size()));
}

std::string chains_note(const CutProblem& problem) {
  return fmt::format(
      "the model has more than {} down-closed sets: this is the best of several chains, and a "
      "better cut may exist; most_ideals raises the limit",
      problem.settings.most_ideals);
}

/// Values of ideals that some devices can run, each with the fewest devices that do.
class DeviceTable {
 public:
  DeviceTable(const IdealSpace& space, const ReplicaPrices& prices, std::uint32_t devices,
              bool replicas, double bound)
      : space_(space),
        prices_(prices),
        devices_(devices),
        most_replicas_(replicas ? devices : 1),
        bound_(std::min(bound, single_stage(replicas))),
        least_(std::size_t{space.size()} * (devices + 1), no_cut),
        from_(least_.size()) {
    least_[0] = 0;
    alive_.push_back({0, 0, 0, 1});
  }

  ReplicatedCut fill() {
    for (std::uint32_t upto = 1; upto < space_.size(); ++upto) {
      fill(upto);
      keep(upto);
    }
    return traced();
  }

 private:
  struct From {
    std::uint32_t before = 0;
    std::uint32_t replicas = 0;
  };
  /// An ideal that can begin a stage.
  struct Alive {
    std::uint32_t ideal;
    double compute_s;
    std::uint32_t least_devices;   // before it
    std::uint32_t least_replicas;  // of a stage behind it, for its input
  };

  /// A single stage is always possible, and any better cut is below its value.
  double single_stage(bool replicas) const {
    if (!replicas && devices_ > 1) return no_cut;
    const ReplicatedStage all{0, space_.size() - 1, devices_};
    return std::nextafter(stage_time(space_, prices_, space_.compute_s.back(), all), no_cut);
  }

  double* row(std::uint32_t ideal) { return &least_[std::size_t{ideal} * (devices_ + 1)]; }

  /// Devices that can run this compute within the bound.
  std::uint32_t devices_for(double seconds) const {
    if (seconds <= 0 || bound_ == no_cut) return 1;
    return std::max(1U, std::uint32_t(std::min(1e9, std::ceil(seconds / bound_ * (1 - 1e-12)))));
  }

  std::uint32_t replicas_for_boundary(std::uint32_t ideal) const {
    if (prices_.transfers == CutTransfers::none || bound_ == no_cut) return 1;
    const double trips = prices_.transfers == CutTransfers::overlap ? 2 : 1;
    return devices_for(trips * space_.boundary_bytes[ideal] * prices_.seconds_per_byte);
  }

  void fill(std::uint32_t upto) {
    const bool last = upto + 1 == space_.size();
    const double compute = space_.compute_s[upto];
    const std::uint32_t after = last ? 0 : devices_for(space_.compute_s.back() - compute);
    if (after >= devices_) return;
    const std::uint32_t left = devices_ - after;
    const std::uint32_t output = last ? 1 : replicas_for_boundary(upto);
    if (output >= devices_ && !last) return;  // no stage could take it in
    for (const Alive& begin : alive_) {
      if (begin.least_devices >= left) continue;
      const std::uint32_t most = std::min(left - begin.least_devices, most_replicas_);
      if (compute - begin.compute_s > bound_ * most) continue;
      std::uint32_t least = std::max(begin.least_replicas, devices_for(compute - begin.compute_s));
      if (begin.ideal > 0 || prices_.counts_first_output) least = std::max(least, output);
      if (least > most || !space_.contains(upto, begin.ideal)) continue;
      for (std::uint32_t r = least; r <= most; ++r) add({begin.ideal, upto, r}, begin, left);
    }
  }

  void add(const ReplicatedStage& stage, const Alive& begin, std::uint32_t left) {
    const double own =
        stage_time(space_, prices_, space_.compute_s[stage.upto] - begin.compute_s, stage);
    if (own >= bound_) return;
    const double* before = row(stage.before);
    double* values = row(stage.upto);
    for (std::uint32_t n = begin.least_devices + stage.replicas; n <= left; ++n) {
      const double value = std::max(before[n - stage.replicas], own);
      if (value >= values[n]) continue;
      values[n] = value;
      from_[std::size_t{stage.upto} * (devices_ + 1) + n] = {stage.before, stage.replicas};
    }
  }

  void keep(std::uint32_t ideal) {
    const double* values = row(ideal);
    std::uint32_t least = 1;
    while (least <= devices_ && values[least] == no_cut) ++least;
    if (least > devices_) return;
    alive_.push_back({ideal, space_.compute_s[ideal], least, replicas_for_boundary(ideal)});
  }

  ReplicatedCut traced() {
    ReplicatedCut cut;
    std::uint32_t ideal = space_.size() - 1;
    std::uint32_t devices = devices_;
    cut.value = row(ideal)[devices];
    if (cut.value == no_cut) return cut;
    while (ideal > 0) {
      const From from = from_[std::size_t{ideal} * (devices_ + 1) + devices];
      cut.stages.push_back({from.before, ideal, from.replicas});
      ideal = from.before;
      devices -= from.replicas;
    }
    std::ranges::reverse(cut.stages);
    return cut;
  }

  const IdealSpace& space_;
  const ReplicaPrices& prices_;
  std::uint32_t devices_;
  std::uint32_t most_replicas_;
  double bound_;
  std::vector<double> least_;  // by ideal and number of devices
  std::vector<From> from_;
  std::vector<Alive> alive_;
};

/// Adds what the order of PipeDream holds, the one for training whose stages have replicas, as far
/// as its steady state.
void add_pipedream_order(const std::vector<ReplicatedStage>& stages, CutProblem& problem) {
  std::vector<std::vector<Rank>> ranks_of_stage;
  std::vector<Stage> chain;
  std::uint32_t ranks = 0;
  for (const ReplicatedStage& one : stages) {
    chain.push_back(Stage{static_cast<std::uint32_t>(chain.size())});
    std::vector<Rank>& own = ranks_of_stage.emplace_back();
    while (own.size() < one.replicas) own.push_back(Rank{ranks++});
  }
  // A replica starts at most ranks / replicas microbatches before its first backward. After twice
  // as many each one in flight has its own weight version.
  const std::uint32_t microbatches = std::min(problem.microbatches, 5 * ranks);
  const Placement placement = Placement::given(ranks, ranks_of_stage, {std::move(chain)});
  const ScheduleEntry& rule = *find_named(schedule_entries(), "pipedream");
  const auto holds = holds_of(rule.make(placement, {microbatches, {}}), placement);
  problem.most_cells = most_cells(holds);
  problem.most_older = most_older(holds);
}

}  // namespace

SetsToFill sets_to_fill(const CutProblem& problem) {
  SetsToFill sets;
  if (auto all = ideals_of(problem, problem.settings.most_ideals)) {
    sets.space = std::move(*all);
  } else {
    sets.space = ideals_of_order(problem, several_orders(problem).front());
    sets.all = false;
    sets.notes.push_back(chains_note(problem));
  }
  if (problem.settings.published) {
    sets.space.boundary_bytes = published_boundaries(problem, sets.space);
  }
  return sets;
}

ReplicaPrices replica_prices(const CutProblem& problem,
                             std::optional<double> bandwidth_bytes_per_s) {
  // PipeDream leaves out the first stage's output, for transfers overlap and its reader counts it
  // too. In sequence it delays the first stage.
  const bool counts_first_output =
      problem.settings.counts_first_output || problem.transfers == CutTransfers::serial;
  return {.transfers = problem.transfers,
          .seconds_per_byte = bandwidth_bytes_per_s ? 1 / *bandwidth_bytes_per_s : 0,
          .counts_first_output = counts_first_output && !problem.settings.published};
}

Cut cut_of(CutProblem problem, const IdealSpace& space, const std::vector<ReplicatedStage>& stages,
           double value, bool replicas) {
  if (replicas) add_pipedream_order(stages, problem);
  Cut cut;
  cut.value = value;
  cut.cuts = {0};
  const auto count = static_cast<std::uint32_t>(stages.size());
  std::uint32_t rank = 0;
  for (const ReplicatedStage& one : stages) {
    CutStage& stage = cut.stages.emplace_back();
    const auto number = static_cast<std::uint32_t>(cut.stages.size() - 1);
    CutProblem own;
    for (std::uint32_t layer = 0; layer < problem.size(); ++layer) {
      if (!space.has(one.upto, layer) || space.has(one.before, layer)) continue;
      stage.layers.push_back(layer);
      own.layers.push_back(problem.layers[layer]);
    }
    stage.replicas = one.replicas;
    stage.rank = rank;
    rank += one.replicas;
    stage.compute_s = space.compute_s[one.upto] - space.compute_s[one.before];
    stage.output_bytes = space.boundary_bytes[one.upto];
    stage.memory_bytes = stage_memory(problem, chain_of(own), 0, own.size(), number, count);
    cut.cuts.push_back(cut.cuts.back() + std::uint32_t(stage.layers.size()));
  }
  return cut;
}

Cut best_graph_cut(const CutProblem& problem, std::uint32_t devices, bool replicas) {
  check_stages(problem, devices, replicas);
  const ReplicaPrices prices = replica_prices(problem, problem.bandwidth_bytes_per_s);
  const ChainCut chain = best_chain(problem, prices, devices, replicas);
  const auto of_chain = [&] {
    return cut_of(problem, chain.space, chain.cut.stages, chain.cut.value, replicas);
  };
  const SetsToFill sets = sets_to_fill(problem);
  if (!sets.all) {
    Cut cut = of_chain();
    cut.notes = sets.notes;
    return cut;
  }
  const ReplicatedCut best = replicated_cut(sets.space, prices, devices, replicas, chain.cut.value);
  Cut cut = best.stages.empty() ? of_chain()
                                : cut_of(problem, sets.space, best.stages, best.value, replicas);
  cut.notes.push_back(fmt::format("over all {} down-closed sets", sets.space.size()));
  return cut;
}

double stage_time(const IdealSpace& space, const ReplicaPrices& prices, double compute_s,
                  const ReplicatedStage& stage) {
  const bool first = stage.before == 0;
  const bool last = stage.upto + 1 == space.size();
  return stage_time(space, prices, compute_s, stage,
                    {.receives = !first, .sends = !last && (!first || prices.counts_first_output)});
}

ReplicatedCut replicated_cut(const IdealSpace& space, const ReplicaPrices& prices,
                             std::uint32_t devices, bool replicas, double bound) {
  return DeviceTable(space, prices, devices, replicas, bound).fill();
}

}  // namespace penstock
