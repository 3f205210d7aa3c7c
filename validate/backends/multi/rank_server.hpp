#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "validate/backends/multi/multi_calls.hpp"
#include "validate/backends/multi/rank_work.hpp"
#include "validate/processes/control.hpp"

namespace penstock {

/// What the process of a rank knows.
struct RankJob {
  const Job* job;
  ChannelRule rule;
  MultiCalls calls;
  std::uint32_t rank;
  std::string gpu;                       // for CUDA_VISIBLE_DEVICES
  std::chrono::milliseconds run_limit;   // of one run
  std::chrono::milliseconds stop_limit;  // to end what was aborted
  GpuLayerSizes sizes = {};              // of layers, where actions run these
};

/// The main function of a rank's process: runs what the process of rank 0 asks for, until it is
/// told to quit or that process is gone. Returns whether it was told. Ends the process when aborted
/// work does not end.
bool serve_rank(const RankJob& all, Control& control);

}  // namespace penstock
