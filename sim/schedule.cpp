#include "sim/schedule.hpp"

#include <fmt/format.h>

#include <array>

namespace penstock {

std::string_view letters(Pass pass) {
  constexpr std::array<std::string_view, pass_count> names{"F", "B", "I", "W",      "R",
                                                           "U", "E", "L", "SEND_F", "SEND_B"};
  return names[static_cast<std::size_t>(pass)];
}

std::string text(const Action& action) {
  return fmt::format("{}{}{}", index(action.stage), letters(action.pass), index(action.microbatch));
}

std::uint64_t Schedule::actions() const {
  std::uint64_t count = 0;
  for (const auto& order : orders_) count += order.size();
  return count;
}

}  // namespace penstock
