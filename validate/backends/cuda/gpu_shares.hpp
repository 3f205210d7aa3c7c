#pragma once

#include <string>
#include <vector>

#include "validate/backends/cuda/gpu_calls.hpp"

namespace penstock {

/// The split of a GPU's SMs.
struct SmShares {
  std::vector<SmGroup> ranks;  // one group per rank, all of one size; none when all share all SMs
  SmGroup links;               // the remaining SMs
  std::string why_unpartitioned;  // why there are no groups
};

/// Splits the SMs of the device evenly among ranks, with some left for links, or says why it
/// cannot.
SmShares share_sms(const GpuCalls& calls, std::uint32_t ranks);

/// The share of each link on the link SMs, so that all links run at once.
struct LinkEngine {
  std::uint32_t blocks = 1;  // per link
  std::uint32_t threads = 512;
};
LinkEngine link_engine(std::uint32_t links, std::uint32_t sms, std::uint32_t threads_per_sm);

}  // namespace penstock
