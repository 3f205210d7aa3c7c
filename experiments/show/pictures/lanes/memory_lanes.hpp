#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "experiments/show/pictures/picture.hpp"
#include "sim/base/time.hpp"
#include "sim/costs/costs.hpp"
#include "sim/plan/plan.hpp"
#include "sim/report/memory.hpp"
#include "sim/timeline/timeline.hpp"

namespace penstock {

/// The maximum memory of a rank during a time span.
struct HeldMemory {
  Time begin;
  Time end;
  std::uint64_t bytes;
  BytesByKind by_kind{};  // of its maximum; zeros where kinds are not known
  friend bool operator==(const HeldMemory&, const HeldMemory&) = default;
};

/// The memory of one rank over time, in consecutive pieces.
struct MemoryLane {
  std::vector<HeldMemory> held;
  HeldMemory peak{};  // the first maximum

  /// The piece at a moment, or before it where none is; nullptr: all are later.
  const HeldMemory* at(Time time) const;
};

/// The memory of all ranks of a run.
struct RunMemory {
  std::vector<BufferKind> kinds;  // that occur, in the order of stacking; empty: not known
  std::vector<MemoryLane> ranks;
  std::uint64_t most = 0;  // of any rank at any time
};

/// The kinds that occur, in the order in which they are stacked: what is there all the time first.
std::vector<BufferKind> kinds_in(const std::vector<BytesByKind>& samples);

/// The memory samples of each rank up to `end`, in pieces not shorter than `shortest`; faster
/// changes keep their maximum. `kinds`: of each sample, or none. Throws InputError for samples of a
/// rank that is not in the plan.
RunMemory run_memory(const Plan& plan, const std::vector<MemorySample>& samples, Time end,
                     Time shortest, const std::vector<BytesByKind>& kinds = {});

/// The same from the costs of a run, by kind.
RunMemory run_memory(const Plan& plan, const Costs& costs, const Timeline& timeline, Time end,
                     Time shortest);

/// How to draw memory over time.
struct MemoryPicture {
  std::string title;
  PictureOptions options = {};
  std::vector<BytesByKind> kinds = {};  // of each sample; empty where they are not known
};

/// A picture file of the memory of each rank over time, from the samples of a timeline. Each rank
/// has a lane, filled in proportion to the largest peak of all ranks, kind upon kind where they are
/// known, with its own peak on the right. Low lanes use colour instead of height, for the sum.
/// Short changes keep their maximum, so no peak is lost. Throws InputError for a timeline without
/// samples, and UsageError if the picture is too small.
std::string draw_memory(PictureFormat format, const Plan& plan, const Timeline& timeline,
                        const MemoryPicture& picture);

}  // namespace penstock
