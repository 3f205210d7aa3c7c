#pragma once

#include <cstdint>
#include <vector>

namespace penstock {

/// An action of a rank, or a transfer over a link.
struct GpuTask {
  std::uint32_t lane = 0;             // a rank, or ranks + a link
  std::uint64_t duration_ns = 0;      // how long it occupies its lane
  std::uint64_t latency_ns = 0;       // of a transfer: from its end to its arrival
  std::uint64_t bytes = 0;            // of a transfer
  std::vector<std::uint32_t> inputs;  // tasks to wait for besides the previous one on its lane
};

/// The tasks of a GPU that runs several ranks. Tasks follow all their inputs, and those of a lane
/// are in running order. Issued in this order no task waits for one not yet issued, so hardware
/// queues cannot lock up however streams share them.
struct GpuProgram {
  std::uint32_t ranks = 0;
  std::uint32_t links = 0;
  std::vector<GpuTask> tasks;

  std::uint32_t lanes() const { return ranks + links; }
  bool is_transfer(const GpuTask& task) const { return task.lane >= ranks; }
};

}  // namespace penstock
