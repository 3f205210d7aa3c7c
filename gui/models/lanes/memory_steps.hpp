#pragma once

#include <cstdint>
#include <vector>

#include "gui/models/run/viewed_run.hpp"
#include "sim/plan/plan.hpp"

namespace penstock {

/// The memory of a rank by kind over time: from `time[i]` to `time[i + 1]` it holds the bytes of
/// row i, one number for each of `kinds`.
struct MemorySteps {
  std::vector<std::int64_t> time;
  std::vector<std::uint64_t> bytes;
};

/// The memory of all ranks of a run.
struct RunMemory {
  std::vector<BufferKind> kinds;  // that occur, in the order of stacking
  bool by_kind = true;            // otherwise a file gave totals alone, as the only kind
  std::vector<MemorySteps> ranks;
  std::uint64_t most = 0;  // of any rank at any time
};

/// With more than `most_steps` changes on a rank, those of each of as many equal stretches of time
/// are one, at their largest total. Empty if nothing is known of the memory.
RunMemory memory_of_run(const ViewedRun& run, std::size_t most_steps = 16384);

}  // namespace penstock
