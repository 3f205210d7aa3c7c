#include "validate/job/rank_group.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace penstock {
namespace {

std::string ranks_text(const RankGroup& group) {
  if (group.size() == 1) return fmt::format("rank {}", group.first);
  const char* between = group.size() == 2 ? ", " : " to ";
  return fmt::format("ranks {}{}{}", group.first, between, group.end - 1);
}

}  // namespace

std::vector<RankGroup> rank_groups(std::uint32_t ranks, std::uint32_t processes) {
  std::vector<RankGroup> groups;
  for (std::uint64_t process = 0; process < processes; ++process) {
    const auto border = [&](std::uint64_t at) {
      return static_cast<std::uint32_t>(at * ranks / processes);
    };
    groups.push_back({border(process), border(process + 1)});
  }
  return groups;
}

std::uint32_t process_of(const std::vector<RankGroup>& groups, std::uint32_t rank) {
  const auto group = std::find_if(groups.begin(), groups.end(),
                                  [&](const RankGroup& one) { return one.contains(rank); });
  return static_cast<std::uint32_t>(group - groups.begin());
}

std::string process_text(const std::vector<RankGroup>& groups, std::uint32_t process) {
  return fmt::format("process {} ({})", process, ranks_text(groups[process]));
}

}  // namespace penstock
