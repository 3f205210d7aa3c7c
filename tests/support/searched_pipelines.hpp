#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "schedules/search/order_problem.hpp"
#include "schedules/search/order_search.hpp"
#include "tests/support/system.hpp"

namespace penstock::testing {

/// A microsecond in the times of a search.
constexpr SearchTime one_us = 1'000'000;

/// A pipeline as the engine and as a search see it; an activation takes one byte.
struct Pipeline {
  OrderProblem problem;
  System system;
};

/// `times_us` by stage, from the start again where there are more stages: F, I and W.
Pipeline pipeline(const Placement& placement, std::uint32_t microbatches,
                  const std::vector<std::array<int, 3>>& times_us, int transfer_us,
                  std::int64_t capacity);

/// The same where activations of `bytes`, of which recomputation leaves one, may be recomputed in
/// `again_us`.
Pipeline pipeline_with_choice(const Placement& placement, std::uint32_t microbatches,
                              const std::vector<std::array<int, 3>>& times_us, int again_us,
                              std::int64_t bytes, std::int64_t capacity);

/// Of up to 4 ranks, 3 chunks and 8 microbatches, by RapidCheck.
Pipeline drawn_pipeline();
/// Keys for a list scheduler, by cell.
std::vector<SearchTime> drawn_keys(const OrderProblem& problem);

/// What the engine reports of an order.
Report report_of_engine(Pipeline pipeline, const RankSequences& sequences,
                        const ActivationForms& recomputed = {});
SearchTime makespan_by_engine(const Pipeline& pipeline, const RankSequences& sequences,
                              const ActivationForms& recomputed = {});

/// A search of so many evaluations.
OrderSearchOptions evaluations(std::uint64_t count, std::uint64_t seed = 1);

bool all_fit(const OrderProblem& problem, const RankSequences& sequences);

}  // namespace penstock::testing
