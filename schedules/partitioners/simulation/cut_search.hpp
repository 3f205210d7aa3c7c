#pragma once

#include <cstdint>

#include "schedules/partitioners/simulation/cut_judge.hpp"

namespace penstock {

/// The number of cuts into exactly `stages` stages: C(size - 1, stages - 1), at most `most`.
std::uint64_t cuts_to_try(std::uint32_t size, std::uint32_t stages, std::uint64_t most);

/// Moves boundaries of the best cuts found so far, near and far, while that helps; then from cuts
/// changed by chance, until `evaluations` cuts are judged. Leaves the best cuts in `best`.
void search_near(const StageTimes& times, std::uint64_t evaluations, std::uint64_t seed,
                 CutJudge& judge, SimulatedCuts& best);

/// Judges every cut that no bound excludes. The first of the best cuts, in the order of their
/// positions, ends in `best`, whatever it held before.
void search_all(const StageTimes& times, std::uint32_t microbatches, CutJudge& judge,
                SimulatedCuts& best);

}  // namespace penstock
