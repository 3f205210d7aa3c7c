#include "experiments/input/orders/comm_deadlock.hpp"

#include <fmt/format.h>

#include <cstddef>
#include <deque>
#include <map>
#include <set>
#include <string>
#include <utility>

namespace penstock {
namespace {

/// Whether a cell may hold up its rank.
bool moves_or_waits(Comm comm) { return is_send(comm) || is_receive(comm) || is_send_wait(comm); }

/// The communication of ranks as far as it comes. A SEND never blocks; a RECV waits until its
/// tensor is the next on its link, and WAIT_SEND until the RECV has run.
class CommRun {
 public:
  CommRun(const std::vector<std::vector<CommCell>>& rows, const Placement& placement)
      : rows_(rows), placement_(placement), next_(rows.size()) {}

  std::optional<CellFault> run() {
    for (bool progress = true; progress;) {
      progress = false;
      for (std::size_t rank = 0; rank < rows_.size(); ++rank) {
        while (next_[rank] < rows_[rank].size() && runs(rows_[rank][next_[rank]])) {
          ++next_[rank];
          progress = true;
        }
      }
    }
    for (std::size_t rank = 0; rank < rows_.size(); ++rank) {
      if (next_[rank] < rows_[rank].size()) return waiting(rank);
    }
    return std::nullopt;
  }

 private:
  std::pair<Rank, Rank> link_of(const Crossing& tensor) const {
    return {placement_.rank_of(tensor.sender), placement_.rank_of(tensor.receiver)};
  }

  bool runs(const CommCell& cell) {
    if (!moves_or_waits(cell.comm)) return true;
    const Crossing tensor = *crossing_of(cell, placement_);
    const std::string name = text(receive_of(tensor));
    if (is_send_wait(cell.comm)) return received_.contains(name);
    std::deque<CommCell>& sent = sent_[link_of(tensor)];
    if (is_send(cell.comm)) {
      sent.push_back(send_of(tensor));
      return true;
    }
    if (sent.empty() || sent.front() != send_of(tensor)) return false;
    sent.pop_front();
    received_.insert(name);
    return true;
  }

  /// Why a rank's RECV never completes: another tensor comes first on its link, or ranks wait for
  /// each other in a cycle.
  CellFault waiting(std::size_t rank) {
    std::string circle;
    std::set<std::size_t> seen;
    std::size_t at = rank;
    while (seen.insert(at).second) {
      const CommCell& cell = rows_[at][next_[at]];
      const Crossing tensor = *crossing_of(cell, placement_);
      const auto [sender, receiver] = link_of(tensor);
      const bool sends = is_send_wait(cell.comm);
      const std::deque<CommCell>& sent = sent_[{sender, receiver}];
      if (!sends && !sent.empty()) {
        return {at, cell.column,
                fmt::format("{} deadlocks: rank {} sends {} first on this link, which rank {} "
                            "receives later",
                            text(cell), index(sender), text(sent.front()), at)};
      }
      const std::size_t other = index(sends ? receiver : sender);
      circle +=
          fmt::format("{}{} of rank {} waits for {} of rank {}", circle.empty() ? "" : "; ",
                      text(cell), at, text(sends ? receive_of(tensor) : send_of(tensor)), other);
      at = other;
    }
    return {rank, rows_[rank][next_[rank]].column, "deadlock: " + circle};
  }

  const std::vector<std::vector<CommCell>>& rows_;
  const Placement& placement_;
  std::vector<std::size_t> next_;  // by rank
  std::map<std::pair<Rank, Rank>, std::deque<CommCell>> sent_;
  std::set<std::string> received_;
};

}  // namespace

CommCell send_of(const Crossing& tensor) {
  return {tensor.gradient ? Comm::send_backward : Comm::send_forward, tensor.sender,
          tensor.microbatch};
}

CommCell receive_of(const Crossing& tensor) {
  return {tensor.gradient ? Comm::receive_backward : Comm::receive_forward, tensor.receiver,
          tensor.microbatch};
}

std::optional<CellFault> find_comm_deadlock(const std::vector<std::vector<CommCell>>& rows,
                                            const Placement& placement) {
  return CommRun(rows, placement).run();
}

}  // namespace penstock
