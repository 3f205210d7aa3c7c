#pragma once

#include <cstdint>
#include <vector>

#include "sim/base/time.hpp"
#include "sim/plan/plan.hpp"
#include "sim/timeline/timeline.hpp"

namespace penstock {

/// The maximum memory of a rank during a time span.
struct HeldMemory {
  Time begin;
  Time end;
  std::uint64_t bytes;
  friend bool operator==(const HeldMemory&, const HeldMemory&) = default;
};

/// The memory of one rank over time, in consecutive pieces.
struct MemoryLane {
  std::vector<HeldMemory> held;
  HeldMemory peak{};  // the first maximum
};

/// The memory samples of each rank up to `end`, in pieces not shorter than `shortest`; faster
/// changes keep their maximum. Throws InputError for samples of a rank that is not in the plan.
std::vector<MemoryLane> memory_lanes(const Plan& plan, const Timeline& timeline, Time end,
                                     Time shortest);

}  // namespace penstock
