#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "experiments/measure/causes/replay.hpp"

namespace penstock {

/// How much longer than the ideal step it takes with some of the tasks as measured.
struct Slowdown {
  std::string what;
  double factor = 1;
};

/// As "Understanding Stragglers in Large Model Training Using What-if Analysis" (OSDI 2025)
/// reports them.
struct Slowdowns {
  std::vector<Slowdown> passes;     // with the ops of one pass as measured; largest first
  std::vector<Slowdown> positions;  // with the ranks of one position
  std::vector<Slowdown> replicas;   // with the ranks of one pipeline
  std::vector<double> ranks;        // by rank: the lesser of those of its position and its pipeline
  std::uint32_t slowest = 0;        // the slowest 3 % of the ranks, at least one
  double explained = 0;             // the share of the loss that goes when these are ideal
};
Slowdowns slowdowns_of(const MeasuredStep& step, const OpModel& model);

/// What waited for a late rank.
struct DelayedRank {
  std::uint32_t rank;
  TaskId op;    // its first that would have begun earlier
  Time at{};    // its begin, as measured
  Time late{};  // how much later than without the delays of that rank
};

/// The first rank that was late, and those that waited for it.
struct LateRank {
  std::uint32_t rank;
  TaskId op;                         // the first that took or started notably longer than usual
  Time at{};                         // its begin
  Time excess{};                     // over what is usual there
  Time cost{};                       // of all that is unusual on this rank
  std::vector<DelayedRank> waiting;  // by time
};
/// Nothing where no op takes a tenth and four times the jitter longer than usual, and a twentieth
/// of the mean action.
std::optional<LateRank> first_late(const MeasuredStep& step, const OpModel& model);

}  // namespace penstock
