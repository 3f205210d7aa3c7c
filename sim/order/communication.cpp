#include "sim/order/communication.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace penstock {

std::string text(const CommCell& cell) {
  const std::string_view word = comm_words[static_cast<std::size_t>(cell.comm)];
  if (!has_microbatch(cell.comm)) return fmt::format("{}{}", index(cell.stage), word);
  return fmt::format("{}{}{}", index(cell.stage), word, index(cell.microbatch));
}

bool any_cell(const std::vector<std::vector<CommCell>>& rows, bool (*test)(Comm)) {
  return std::ranges::any_of(rows, [&](const auto& row) {
    return std::ranges::any_of(row, [&](const CommCell& cell) { return test(cell.comm); });
  });
}

std::optional<Crossing> crossing_of(const CommCell& cell, const Placement& placement) {
  const bool gradient = cell.comm == Comm::send_backward || cell.comm == Comm::receive_backward ||
                        cell.comm == Comm::exchange_backward ||
                        cell.comm == Comm::wait_send_backward;
  const bool receives = is_receive(cell.comm);
  const auto other =
      gradient == receives ? placement.after(cell.stage) : placement.before(cell.stage);
  const bool stays = other && placement.rank_of(*other, cell.microbatch) ==
                                  placement.rank_of(cell.stage, cell.microbatch);
  if (!other || stays != is_exchange(cell.comm)) return std::nullopt;
  const Stage sender = receives ? *other : cell.stage;
  const Stage receiver = receives ? cell.stage : *other;
  return Crossing{gradient, sender, receiver, cell.microbatch};
}

}  // namespace penstock
