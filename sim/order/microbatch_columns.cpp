#include "sim/order/microbatch_columns.hpp"

#include <algorithm>

namespace penstock {
namespace {

/// Calls `visit` with the microbatch of every action.
template <class Visitor>
void for_each_microbatch(const Schedule& schedule, Visitor visit) {
  for (Rank rank : Numbers<Rank>(schedule.ranks())) {
    for (const Action& action : schedule.on(rank)) visit(action.microbatch);
  }
}

/// Whether every number below `count` occurs.
bool all_occur(const Schedule& schedule, std::uint32_t count) {
  if (count > schedule.actions()) return false;
  std::vector<bool> occurs(count);
  for_each_microbatch(schedule, [&](Microbatch microbatch) { occurs[index(microbatch)] = true; });
  return std::find(occurs.begin(), occurs.end(), false) == occurs.end();
}

}  // namespace

MicrobatchColumns::MicrobatchColumns(const Schedule& schedule) {
  for_each_microbatch(
      schedule, [&](Microbatch microbatch) { count_ = std::max(count_, index(microbatch) + 1); });
  if (all_occur(schedule, count_)) return;
  for_each_microbatch(schedule, [&](Microbatch microbatch) { sorted_.push_back(microbatch); });
  std::sort(sorted_.begin(), sorted_.end());
  sorted_.erase(std::unique(sorted_.begin(), sorted_.end()), sorted_.end());
  count_ = static_cast<std::uint32_t>(sorted_.size());
}

std::uint32_t MicrobatchColumns::search(Microbatch microbatch) const {
  const auto found = std::lower_bound(sorted_.begin(), sorted_.end(), microbatch);
  return static_cast<std::uint32_t>(found - sorted_.begin());
}

}  // namespace penstock
