#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/costs/priced_plan.hpp"

namespace penstock {

/// A plan in which every data replica has ranks of its own, so that all of them can really run:
/// replica d has the ranks from d times `one.plan.ranks` on, its own links and its own
/// microbatches, numbered behind those of the replicas before. An update waits for the gradient
/// sums of its stage from all replicas. `replicas` has the costs of each: those of `one`, or draws.
PricedPlan with_replica_ranks(const PricedPlan& one, const std::vector<Costs>& replicas);

/// Consecutive ranks run by one process.
struct RankGroup {
  std::uint32_t first = 0;
  std::uint32_t end = 0;  // one past the last

  bool contains(std::uint32_t rank) const { return first <= rank && rank < end; }
  std::uint32_t size() const { return end - first; }
};

/// Splits ranks over processes as evenly as possible; at most one process per rank.
std::vector<RankGroup> rank_groups(std::uint32_t ranks, std::uint32_t processes);

/// The process of a rank.
std::uint32_t process_of(const std::vector<RankGroup>& groups, std::uint32_t rank);

/// "process 1 (ranks 2, 3)".
std::string process_text(const std::vector<RankGroup>& groups, std::uint32_t process);

/// A plan in which gradients that no task of it sums go to the other copies of their stage in
/// transfers of no time, so that updates that really run have them: from the last weight gradient
/// of a stage on a rank to the updates of all its copies. So it is with ZeRO-3, whose passes sum,
/// and with a tied head that has no weights of its own on the rank of the embedding. Times stay as
/// they are. Stages with one copy, those without updates and listed sums stay as they are.
///
/// `replicas`: data replicas that the plan is for. Every update must come behind all passes, as in
/// what `lower` adds to an order without updates, and no chance may have been drawn.
PricedPlan with_sums_of_passes(PricedPlan priced, std::uint32_t replicas);

/// A plan in which the update of an end of a tied model waits for the gradients of all copies of
/// the other end, so that it can step with their sum. Plans list those of its partner alone. From
/// each copy comes one transfer; a copy on the rank of the update needs none.
PricedPlan with_ties_of_copies(PricedPlan priced);

}  // namespace penstock
