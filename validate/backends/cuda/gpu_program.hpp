#pragma once

#include <cstdint>
#include <vector>

namespace penstock {

/// An action of a rank, or a transfer over a link.
struct GpuTask {
  std::uint32_t lane = 0;             // a rank, or ranks + a link
  std::uint64_t duration_ns = 0;      // how long it keeps its lane
  std::uint64_t latency_ns = 0;       // of a transfer: how much later it has arrived
  std::uint64_t bytes = 0;            // of a transfer
  std::vector<std::uint32_t> inputs;  // what it waits for beyond the task before it on its lane
};

/// What a GPU that plays several ranks is to run. Tasks stand behind all that they wait for, and
/// those of a lane in the order they run: issued in this order, none waits for one that was not
/// issued, so that no queue of the hardware can lock up, however streams share these.
struct GpuProgram {
  std::uint32_t ranks = 0;
  std::uint32_t links = 0;
  std::vector<GpuTask> tasks;

  std::uint32_t lanes() const { return ranks + links; }
  bool is_transfer(const GpuTask& task) const { return task.lane >= ranks; }
};

}  // namespace penstock
