#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "schedules/partitioners/graph/ideal_space.hpp"
#include "schedules/partitioners/problem/cut_problem.hpp"

namespace penstock {

/// What a stage on several devices costs, in the model of PipeDream: the devices share its compute,
/// all-reduce its gradients after it, and share its transfers, which overlap both.
struct ReplicaPrices {
  CutTransfers transfers = CutTransfers::none;
  double seconds_per_byte = 0;  // of one device's link
  bool counts_first_output = false;
  // Single stages divide the time of their all-reduce by this, as PipeDream does between servers.
  double single_stage_share = 1;
};

/// One stage of a replicated cut: the layers of one ideal that are not in another.
struct ReplicatedStage {
  std::uint32_t before;  // ideals
  std::uint32_t upto;
  std::uint32_t replicas;
};

struct ReplicatedCut {
  double value = std::numeric_limits<double>::infinity();
  std::vector<ReplicatedStage> stages;  // empty: none
};

/// Which of its transfers a stage is charged for.
struct StageEnds {
  bool receives;
  bool sends;
};

/// The time of a stage; `compute_s` is that of the whole stage on one device, or on one group.
inline double stage_time(const IdealSpace& space, const ReplicaPrices& prices, double compute_s,
                         const ReplicatedStage& stage, StageEnds ends) {
  const double replicas = stage.replicas;
  const double parameters = space.parameter_bytes[stage.upto] - space.parameter_bytes[stage.before];
  const double share = prices.seconds_per_byte / replicas;
  const bool single = stage.before == 0 && stage.upto + 1 == space.size();
  const double reduced = 4 * (replicas - 1) * parameters * share;
  const double own =
      (compute_s + (single ? reduced / prices.single_stage_share : reduced)) / replicas;
  const double in = ends.receives ? space.boundary_bytes[stage.before] * share : 0;
  const double out = ends.sends ? space.boundary_bytes[stage.upto] * share : 0;
  switch (prices.transfers) {
    case CutTransfers::none:
      return own;
    case CutTransfers::overlap:
      return std::max({own, 2 * in, 2 * out});
    case CutTransfers::serial:
      return own + in + out;
  }
  return own;
}

/// The same with the ends of a whole model: the first stage is charged for its output only where
/// the prices say so.
double stage_time(const IdealSpace& space, const ReplicaPrices& prices, double compute_s,
                  const ReplicatedStage& stage);

/// The least longest stage over exactly `devices` devices, below `bound`; without replicas, exactly
/// as many stages. A stage holds what one ideal adds to a smaller one.
ReplicatedCut replicated_cut(const IdealSpace& space, const ReplicaPrices& prices,
                             std::uint32_t devices, bool replicas,
                             double bound = std::numeric_limits<double>::infinity());

/// The sets of a model that stages may fill: all ideals, or, above the limit, those of the given
/// order, with a note that says so.
struct SetsToFill {
  IdealSpace space;
  bool all = true;
  std::vector<std::string> notes;
};

/// Enumerates the ideals of a model up to its limit.
SetsToFill sets_to_fill(const CutProblem& problem);

ReplicaPrices replica_prices(const CutProblem& problem,
                             std::optional<double> bandwidth_bytes_per_s);

/// A cut as a result: its stages in order, with positions counted in the order that its stages
/// make. Stages that may have replicas hold what they do in the order of PipeDream.
Cut cut_of(CutProblem problem, const IdealSpace& space, const std::vector<ReplicatedStage>& stages,
           double value, bool replicas);

/// The best cut over exactly `devices` devices: over all ideals, or the best of several chains when
/// there are too many. Throws InputError when the layers cannot fill as many stages.
Cut best_graph_cut(const CutProblem& problem, std::uint32_t devices, bool replicas);

}  // namespace penstock
