#pragma once

#include <climits>
#include <cstddef>

#include "validate/job/job.hpp"

namespace penstock {

/// `ncclConfig_t` as of NCCL 2.18, the oldest version that does. Newer ones read no further than
/// `size`, and take what is newer than `version` as unset.
struct NcclConfig {
  static constexpr int unset = INT_MIN;

  std::size_t size = sizeof(NcclConfig);
  unsigned int magic = 0xcafebeef;
  unsigned int version = 21801;
  int blocking = unset;
  int cluster_size = unset;
  int least_blocks = unset;  // minCTAs
  int most_blocks = unset;   // maxCTAs
  const char* network = nullptr;
  int split_share = unset;
  int newer = unset;  // where later versions have something else
};

/// Only what is given is set. Communicators that are split off inherit it.
inline NcclConfig nccl_config(const CommResources& resources) {
  const auto given = [](std::uint32_t blocks) {
    return blocks > 0 ? static_cast<int>(blocks) : NcclConfig::unset;
  };
  NcclConfig config;
  config.least_blocks = given(resources.least_blocks);
  config.most_blocks = given(resources.most_blocks);
  if (resources.shared) config.split_share = 1;
  return config;
}

}  // namespace penstock
