#pragma once

#include <cstdint>
#include <vector>

#include "sim/base/time.hpp"
#include "sim/plan/plan.hpp"
#include "sim/timeline/timeline.hpp"

namespace penstock {

/// The most that a rank holds from one moment to another.
struct HeldMemory {
  Time begin;
  Time end;
  std::uint64_t bytes;
  friend bool operator==(const HeldMemory&, const HeldMemory&) = default;
};

/// What one rank holds over time, in pieces that follow each other.
struct MemoryLane {
  std::vector<HeldMemory> held;
  HeldMemory peak{};  // the first of the largest
};

/// For each rank the samples of a timeline up to `end`, in pieces that are no shorter than
/// `shortest`: what changes faster counts with its maximum. Throws InputError for samples of a rank
/// that the plan does not have.
std::vector<MemoryLane> memory_lanes(const Plan& plan, const Timeline& timeline, Time end,
                                     Time shortest);

}  // namespace penstock
