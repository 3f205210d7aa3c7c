#pragma once

#include <string>
#include <vector>

#include "validate/backends/cuda/gpu_calls.hpp"

namespace penstock {

/// Which SMs of a GPU are whose.
struct SmShares {
  std::vector<SmGroup> ranks;     // one each, all of one size; none where all share all SMs
  SmGroup links;                  // those left over
  std::string why_unpartitioned;  // why there are none
};

/// Splits the SMs of the device evenly among ranks, with some left for links. Where that cannot be,
/// it says why.
SmShares share_sms(const GpuCalls& calls, std::uint32_t ranks);

/// How links share their SMs, so that all of them can be served at once.
struct LinkEngine {
  std::uint32_t blocks = 1;  // of each link
  std::uint32_t threads = 512;
};
LinkEngine link_engine(std::uint32_t links, std::uint32_t sms, std::uint32_t threads_per_sm);

}  // namespace penstock
