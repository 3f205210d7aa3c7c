#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace penstock {

/// Ranks in a row that one process runs.
struct RankGroup {
  std::uint32_t first = 0;
  std::uint32_t end = 0;  // one past its last

  bool contains(std::uint32_t rank) const { return first <= rank && rank < end; }
  std::uint32_t size() const { return end - first; }
};

/// So many ranks over so many processes, as evenly as can be; no more processes than ranks.
std::vector<RankGroup> rank_groups(std::uint32_t ranks, std::uint32_t processes);

/// Which process a rank belongs to.
std::uint32_t process_of(const std::vector<RankGroup>& groups, std::uint32_t rank);

/// "process 1 (ranks 2, 3)".
std::string process_text(const std::vector<RankGroup>& groups, std::uint32_t process);

}  // namespace penstock
