#pragma once

#include <string>
#include <vector>

#include "validate/backends/cuda/gpu_calls.hpp"

namespace penstock {

/// The SMs of a rank.
struct RankSms {
  std::vector<SmGroup> groups;  // of one split
  std::uint32_t sms = 0;        // of all groups
};

/// The split of a GPU's SMs.
struct SmShares {
  std::vector<RankSms> ranks;     // one per rank; none when all share all SMs
  SmGroup links;                  // the remaining SMs
  std::string why_unpartitioned;  // why there are no groups
};

/// Splits `units` among ranks in proportion to their work, by the largest remainder; ties go to the
/// first. Each rank gets at least one; empty when there are too few.
std::vector<std::uint32_t> units_by_work(std::uint32_t units, const std::vector<double>& work);

/// Whether the even share of every rank is within half a unit of its share by work.
bool even_within_units(std::uint32_t units, const std::vector<double>& work);

/// Splits the SMs of the device among ranks, with some left for links, or says why it cannot.
/// Ranks get equal groups, or, when their work differs by more than the smallest group, several
/// such groups each in proportion to it. `work`, in any unit, is by rank; empty: equal.
SmShares share_sms(const GpuCalls& calls, std::uint32_t ranks, const std::vector<double>& work = {});

/// The share of each link on the link SMs, so that all links run at once.
struct LinkEngine {
  std::uint32_t blocks = 1;  // per link
  std::uint32_t threads = 512;
};
LinkEngine link_engine(std::uint32_t links, std::uint32_t sms, std::uint32_t threads_per_sm);

}  // namespace penstock
