#pragma once

#include <cstdint>
#include <string_view>

#include "sim/placement.hpp"

namespace penstock {

/// The loop placement for rules with one stage a rank; throws RuleError for other chunks.
Placement one_stage_a_rank(std::uint32_t ranks, std::uint32_t chunks);

/// Throws RuleError unless every rank holds at most one stage.
void require_one_stage_a_rank(std::string_view rule, const Placement& placement);
/// Throws RuleError when a stage has replicas.
void require_no_replicas(std::string_view rule, const Placement& placement);

/// (p-1)/(m+p-1): the share of the makespan that ranks idle when the pipeline fills and drains once.
double fill_and_drain_bubble(std::uint32_t ranks, std::uint32_t chunks, std::uint32_t microbatches);

}  // namespace penstock
