#include "schedules/partitioners/graph/graph_cut.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "sim/base/error.hpp"

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
      "better "
      "cut may exist; most_ideals raises the limit",
      problem.settings.most_ideals);
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

Cut cut_of(const CutProblem& problem, const IdealSpace& space,
           const std::vector<ReplicatedStage>& stages, double value) {
  Cut cut;
  cut.value = value;
  cut.cuts = {0};
  const auto count = static_cast<std::uint32_t>(stages.size());
  std::uint32_t rank = 0;
  for (const ReplicatedStage& one : stages) {
    CutStage& stage = cut.stages.emplace_back();
    const auto number = static_cast<std::uint32_t>(cut.stages.size() - 1);
    double stash = 0;
    for (std::uint32_t layer = 0; layer < problem.size(); ++layer) {
      if (!space.has(one.upto, layer) || space.has(one.before, layer)) continue;
      stage.layers.push_back(layer);
      stash += problem.layers[layer].stash_bytes;
    }
    stage.replicas = one.replicas;
    stage.rank = rank;
    rank += one.replicas;
    stage.compute_s = space.compute_s[one.upto] - space.compute_s[one.before];
    stage.output_bytes = space.boundary_bytes[one.upto];
    const double parameters = space.parameter_bytes[one.upto] - space.parameter_bytes[one.before];
    stage.memory_bytes =
        problem.state_factor * parameters + in_flight(problem, number, count) * stash;
    cut.cuts.push_back(cut.cuts.back() + std::uint32_t(stage.layers.size()));
  }
  return cut;
}

Cut best_graph_cut(const CutProblem& problem, std::uint32_t devices, bool replicas) {
  check_stages(problem, devices, replicas);
  const ReplicaPrices prices = replica_prices(problem, problem.bandwidth_bytes_per_s);
  const ChainCut chain = best_chain(problem, prices, devices, replicas);
  const auto of_chain = [&] {
    return cut_of(problem, chain.space, chain.cut.stages, chain.cut.value);
  };
  const SetsToFill sets = sets_to_fill(problem);
  if (!sets.all) {
    Cut cut = of_chain();
    cut.notes = sets.notes;
    return cut;
  }
  const ReplicatedCut best = replicated_cut(sets.space, prices, devices, replicas, chain.cut.value);
  Cut cut = best.stages.empty() ? of_chain() : cut_of(problem, sets.space, best.stages, best.value);
  cut.notes.push_back(fmt::format("over all {} down-closed sets", sets.space.size()));
  return cut;
}

}  // namespace penstock
