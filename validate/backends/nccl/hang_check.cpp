#include "validate/backends/nccl/hang_check.hpp"

#include <fmt/format.h>

#include <map>
#include <tuple>
#include <vector>

namespace penstock {
namespace {

/// A started call, for its partners.
struct Started {
  const CommOp* op;
  std::uint32_t rank;
};

class HangCheck {
 public:
  HangCheck(const CommPlan& comms, const Plan& plan)
      : comms_(comms), plan_(plan), ranks_(comms.ranks.size()) {}

  std::optional<std::string> result() {
    if (auto late = late_wait()) return late;
    for (bool moved = true; moved;) {
      moved = false;
      for (std::uint32_t rank = 0; rank < ranks_.size(); ++rank) moved |= run(rank);
    }
    return misfit_ ? misfit_ : standstill();
  }

 private:
  struct RankQueue {
    std::size_t at = 0;  // the first item that has not ended
    bool has_started = false;
    std::vector<std::size_t> ordinal;  // by call of that item, once started: its place in its row
  };
  /// Channel, sender and receiver; of a collective the rank twice.
  using Row = std::tuple<std::uint32_t, std::uint32_t, std::uint32_t, bool>;

  /// An event that is recorded later than it is waited for holds nothing up.
  std::optional<std::string> late_wait() const {
    for (std::uint32_t rank = 0; rank < ranks_.size(); ++rank) {
      const std::vector<RankItem>& items = comms_.ranks[rank];
      for (std::uint32_t item = 0; item < items.size(); ++item) {
        for (const std::uint32_t wait : items[item].waits) {
          if (wait < item) continue;
          return fmt::format("rank {} issues {} before {}, for which it waits", rank,
                             text(items[item]), text(items[wait]));
        }
      }
    }
    return std::nullopt;
  }

  /// As far as a rank comes; whether it moved. All that an item waits for has ended before it is
  /// the first.
  bool run(std::uint32_t rank) {
    RankQueue& own = ranks_[rank];
    bool moved = false;
    for (; own.at < comms_.ranks[rank].size() && !misfit_; ++own.at) {
      const RankItem& what = comms_.ranks[rank][own.at];
      moved |= !own.has_started;
      if (!own.has_started) start(rank, what);
      for (std::size_t call = 0; call < what.group.size(); ++call) {
        if (missing_partner(rank, what, call)) return moved;
      }
      own.has_started = false;
      moved = true;
    }
    return moved;
  }

  void start(std::uint32_t rank, const RankItem& what) {
    ranks_[rank].has_started = true;
    ranks_[rank].ordinal.clear();
    for (const CommOp& op : what.group) {
      std::vector<Started>& row = rows_[row_of(rank, what.channel, op)];
      ranks_[rank].ordinal.push_back(row.size());
      row.push_back({&op, rank});
      for (const std::uint32_t partner : partners_of(rank, what.channel, op)) {
        compare(row.back(), rows_[row_of_partner(rank, partner, what.channel, op)], row.size() - 1);
      }
    }
  }

  static Row row_of(std::uint32_t rank, std::uint32_t channel, const CommOp& op) {
    if (is_collective(op.kind)) return {channel, rank, rank, true};
    const bool sends = op.kind == CommKind::send;
    return {channel, sends ? rank : op.peer, sends ? op.peer : rank, sends};
  }

  static Row row_of_partner(std::uint32_t rank, std::uint32_t partner, std::uint32_t channel,
                            const CommOp& op) {
    if (is_collective(op.kind)) return {channel, partner, partner, true};
    const bool sends = op.kind == CommKind::send;
    return {channel, sends ? rank : partner, sends ? partner : rank, !sends};
  }

  std::vector<std::uint32_t> partners_of(std::uint32_t rank, std::uint32_t channel,
                                         const CommOp& op) const {
    if (!is_collective(op.kind)) return {op.peer};
    std::vector<std::uint32_t> others = comms_.channels[channel].members;
    std::erase(others, rank);
    return others;
  }

  std::optional<std::uint32_t> missing_partner(std::uint32_t rank, const RankItem& item,
                                               std::size_t call) const {
    const CommOp& op = item.group[call];
    const std::size_t ordinal = ranks_[rank].ordinal[call];
    for (const std::uint32_t partner : partners_of(rank, item.channel, op)) {
      const auto row = rows_.find(row_of_partner(rank, partner, item.channel, op));
      if (row == rows_.end() || row->second.size() <= ordinal) return partner;
    }
    return std::nullopt;
  }

  /// What matches must be one transfer, or one kind of collective, of one size.
  void compare(const Started& own, const std::vector<Started>& row, std::size_t ordinal) {
    if (row.size() <= ordinal || misfit_) return;
    const Started& other = row[ordinal];
    const bool fits = is_collective(own.op->kind) ? own.op->kind == other.op->kind
                                                  : own.op->task == other.op->task;
    if (fits && own.op->bytes == other.op->bytes) return;
    misfit_ = fmt::format("{} of rank {}, {} bytes, meets {} of rank {}, {} bytes",
                          task_text(plan_, own.op->task), own.rank, own.op->bytes,
                          task_text(plan_, other.op->task), other.rank, other.op->bytes);
  }

  std::optional<std::string> standstill() const {
    std::string all;
    for (std::uint32_t rank = 0; rank < ranks_.size(); ++rank) {
      if (ranks_[rank].at == comms_.ranks[rank].size()) continue;
      all += fmt::format("{} {}", all.empty() ? "deadlock:" : ";", stuck(rank));
    }
    return all.empty() ? std::nullopt : std::optional(all);
  }

  /// "0SEND_F1 of rank 0 waits for rank 1".
  std::string stuck(std::uint32_t rank) const {
    const RankItem& what = comms_.ranks[rank][ranks_[rank].at];
    for (std::size_t call = 0; call < what.group.size(); ++call) {
      const auto partner = missing_partner(rank, what, call);
      if (!partner) continue;
      const bool sends = what.group[call].kind == CommKind::send;
      const bool receives = what.group[call].kind == CommKind::receive;
      return fmt::format("{} of rank {} waits for rank {}{}",
                         task_text(plan_, what.group[call].task), rank, *partner,
                         sends      ? " to receive"
                         : receives ? " to send"
                                    : "");
    }
    return fmt::format("{} of rank {}", text(what), rank);
  }

  std::string text(const RankItem& item) const {
    return task_text(plan_, item.is_action() ? item.action : item.group.front().task);
  }

  const CommPlan& comms_;
  const Plan& plan_;
  std::vector<RankQueue> ranks_;
  std::map<Row, std::vector<Started>> rows_;
  std::optional<std::string> misfit_;
};

}  // namespace

std::optional<std::string> why_it_hangs(const CommPlan& comms, const Plan& plan) {
  return HangCheck(comms, plan).result();
}

}  // namespace penstock
