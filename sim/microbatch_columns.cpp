#include "sim/microbatch_columns.hpp"

#include <algorithm>

namespace penstock {

MicrobatchColumns::MicrobatchColumns(const Schedule& schedule) {
  std::uint32_t largest = 0;
  std::uint64_t longest_order = 0;
  for (Rank rank : Numbers<Rank>(schedule.ranks())) {
    longest_order = std::max<std::uint64_t>(longest_order, schedule.on(rank).size());
    for (const Action& action : schedule.on(rank)) {
      largest = std::max(largest, index(action.microbatch));
    }
  }
  count_ = largest + 1;
  if (count_ <= longest_order) return;
  for (Rank rank : Numbers<Rank>(schedule.ranks())) {
    for (const Action& action : schedule.on(rank)) sorted_.push_back(action.microbatch);
  }
  std::sort(sorted_.begin(), sorted_.end());
  sorted_.erase(std::unique(sorted_.begin(), sorted_.end()), sorted_.end());
  count_ = static_cast<std::uint32_t>(sorted_.size());
}

std::uint32_t MicrobatchColumns::search(Microbatch microbatch) const {
  const auto found = std::lower_bound(sorted_.begin(), sorted_.end(), microbatch);
  return static_cast<std::uint32_t>(found - sorted_.begin());
}

}  // namespace penstock
