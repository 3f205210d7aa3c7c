#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "schedules/partitioners/graph/replicated_cut.hpp"
#include "schedules/partitioners/problem/cut_problem.hpp"

namespace penstock {

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
/// make.
Cut cut_of(const CutProblem& problem, const IdealSpace& space,
           const std::vector<ReplicatedStage>& stages, double value);

/// The best cut over exactly `devices` devices: over all ideals, or the best of several chains when
/// there are too many. Throws InputError when the layers cannot fill as many stages.
Cut best_graph_cut(const CutProblem& problem, std::uint32_t devices, bool replicas);

}  // namespace penstock
