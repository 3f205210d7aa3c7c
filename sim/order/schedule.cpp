#include "sim/order/schedule.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

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
  return std::ranges::find(occurs, false) == occurs.end();
}

}  // namespace

std::string_view letters(Pass pass) {
  constexpr std::array<std::string_view, pass_count> names{
      "F",      "B",      "I",      "W",      "R",      "U",      "E",   "L",
      "SEND_F", "SEND_B", "SEND_E", "SEND_L", "REDUCE", "GATHER", "TIE", "REDUCE_EARLY"};
  return names[static_cast<std::size_t>(pass)];
}

std::string text(const Action& action) {
  return fmt::format("{}{}{}", index(action.stage), letters(action.pass), index(action.microbatch));
}

bool Schedule::has(Pass pass) const {
  return std::ranges::any_of(orders_, [&](const std::vector<Action>& order) {
    return std::ranges::any_of(order, [&](const Action& action) { return action.pass == pass; });
  });
}

bool Schedule::has_backward() const { return has(Pass::backward) || has(Pass::backward_input); }

std::uint64_t Schedule::actions() const {
  std::uint64_t count = 0;
  for (const auto& order : orders_) count += order.size();
  return count;
}

MicrobatchColumns::MicrobatchColumns(const Schedule& schedule) {
  for_each_microbatch(
      schedule, [&](Microbatch microbatch) { count_ = std::max(count_, index(microbatch) + 1); });
  if (all_occur(schedule, count_)) return;
  for_each_microbatch(schedule, [&](Microbatch microbatch) { sorted_.push_back(microbatch); });
  std::ranges::sort(sorted_);
  sorted_.erase(std::unique(sorted_.begin(), sorted_.end()), sorted_.end());
  count_ = static_cast<std::uint32_t>(sorted_.size());
}

std::uint32_t MicrobatchColumns::search(Microbatch microbatch) const {
  const auto found = std::lower_bound(sorted_.begin(), sorted_.end(), microbatch);
  return static_cast<std::uint32_t>(found - sorted_.begin());
}

}  // namespace penstock
