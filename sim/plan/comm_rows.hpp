#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "sim/order/communication.hpp"
#include "sim/order/placement.hpp"
#include "sim/order/schedule.hpp"
#include "sim/plan/plan.hpp"
#include "sim/plan/tail.hpp"
#include "sim/plan/work_classes.hpp"

namespace penstock {

/// An UNSHARD of weights that no action of their stage uses before their RESHARD, by places in the
/// row.
struct UnusedGather {
  std::size_t unshard;
  std::optional<std::size_t> reshard;  // none: before the end of the row
};
std::vector<UnusedGather> unused_gathers(const std::vector<CommCell>& row,
                                         const std::vector<Action>& actions);

/// The communication of an order's rows while it is lowered: which cells are issued, what waits in
/// which stream, and which transfers both of their ends have come to. A stream takes no task of its
/// own: that a transfer is behind another one is an input of it.
class CommRows {
 public:
  /// Numbers a tensor as lowering does.
  using Number = std::function<std::size_t(const Crossing&)>;
  /// Adds transfers and collectives to `plan`, reductions by `tail`.
  CommRows(const Communication& communication, const Schedule& schedule, const Placement& placement,
           Plan& plan, WorkClasses& classes, TailTasks& tail, Number number);

  /// The next cell of a rank that stands before this action of its row; null: none.
  const CommCell* next(Rank rank, std::uint32_t action) const;

  /// A tensor that was sent, or received: its rank there can go on.
  struct Moved {
    std::size_t tensor;
    TaskId transfer;
    Rank rank;
    bool received;
  };
  /// Issues the cells of a rank in front of an action, behind its last task, and adds the transfers
  /// that can be placed now to `moved`. Returns the tensor of a SEND that is waited for and has no
  /// transfer yet.
  std::optional<std::size_t> issue(Rank rank, std::uint32_t action, TaskId last,
                                   std::vector<Moved>& moved);

  /// What a rank's next action waits for: SENDs and reductions whose waits stand in front of it,
  /// the gathering of its stage's weights, if it is the first since then, and this received tensor.
  std::vector<TaskId> take_waits(Rank rank) { return std::exchange(waits_[index(rank)], {}); }
  TaskId take_gathered(Rank rank, Stage stage);
  const std::vector<TaskId>& arrival(std::size_t tensor) const {
    return tensors_.at(tensor).arrival;
  }

  /// The class of the action before this one, with the memory of the activations whose RECVs, and
  /// of the weights whose RESHARDs, stand between the two.
  std::uint32_t holding(std::uint32_t work, Rank rank, std::uint32_t action);

  /// Whether transfers of one link leave in the order in which they were placed, since each stands
  /// behind the one before in the stream of its sender.
  bool keeps_order() const { return streams_chain_ && !sends_together_; }

  /// What keeps a tensor from moving: the missing cell, and what that stands behind in its stream,
  /// or nothing if it was not issued.
  struct Missing {
    Rank rank;
    CommCell cell;
    std::optional<CommCell> behind;
  };
  Missing missing(const Crossing& crossing) const;

 private:
  using StreamKey = std::tuple<Rank, std::size_t, bool>;

  /// A cell in a stream.
  struct Op {
    std::size_t tensor;
    bool sends;
  };
  /// Cells issued together.
  struct Group {
    std::vector<Op> ops;
    std::vector<TaskId> after;
    std::size_t left = 0;
    std::vector<TaskId> done;
  };
  struct Stream {
    std::deque<Group> groups;      // the first is at the head
    std::vector<TaskId> before{};  // what the head stands behind
  };
  /// One end of a tensor's way.
  struct End {
    CommCell cell{};
    std::optional<StreamKey> stream;  // once issued
    bool at_head = false;
    std::vector<TaskId> after;
  };
  struct Tensor {
    Crossing crossing;
    End send, receive;
    TaskId transfer = no_task;
    bool received = false;
    std::vector<TaskId> arrival;
  };

  bool is_eager(const Crossing& crossing) const;
  Rank rank_of(const CommCell& cell) const {
    return placement_.rank_of(cell.stage, cell.microbatch);
  }
  Rank peer_of(const CommCell& cell) const;
  StreamKey stream_of(const CommCell& cell, Rank rank) const;
  std::size_t end_of_batch(Rank rank) const;
  std::vector<TaskId> issued_after(Rank rank, TaskId last) const;
  void issue_batch(Rank rank, TaskId last);
  void issue_collective(Rank rank, const CommCell& cell, TaskId last);
  TaskId exchange(Rank rank, const CommCell& cell, std::span<const TaskId> inputs);
  void come_to_head(const StreamKey& key);
  void look_at(std::size_t tensor);
  void place(std::size_t tensor);
  void receive(std::size_t tensor);
  void finish(const StreamKey& key, std::span<const TaskId> done);

  const Communication& communication_;
  const Placement& placement_;
  Plan& plan_;
  WorkClasses& classes_;
  TailTasks& tail_;
  Number number_;
  std::vector<std::size_t> next_;           // by rank: its next cell
  std::vector<std::vector<TaskId>> waits_;  // by rank: of its next action
  std::vector<std::vector<bool>> unused_;   // by rank, cell: an UNSHARD or RESHARD of no use
  std::vector<TaskId> collective_;          // by rank: the last one
  std::map<std::pair<Rank, Stage>, TaskId> gathered_;  // not waited for yet
  std::map<std::pair<Rank, Stage>, TaskId> reduced_;
  std::unordered_map<std::size_t, Tensor> tensors_;
  std::map<StreamKey, Stream> streams_;
  std::deque<std::size_t> ready_;  // both ends have come to the heads of their streams
  std::vector<Moved>* moved_ = nullptr;
  bool streams_chain_;
  bool sends_together_ = false;  // a group has several SENDs
};

}  // namespace penstock
