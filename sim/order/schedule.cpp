#include "sim/order/schedule.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace penstock {

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
  return std::any_of(orders_.begin(), orders_.end(), [&](const std::vector<Action>& order) {
    return std::any_of(order.begin(), order.end(),
                       [&](const Action& action) { return action.pass == pass; });
  });
}

bool Schedule::has_backward() const { return has(Pass::backward) || has(Pass::backward_input); }

std::uint64_t Schedule::actions() const {
  std::uint64_t count = 0;
  for (const auto& order : orders_) count += order.size();
  return count;
}

}  // namespace penstock
