#include "validate/comparison/counted_memory.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>

namespace penstock {
namespace {

using Cell = std::pair<Stage, Microbatch>;

/// What comes first when a rank changes several things at one time and for one action.
enum class Turn : std::uint8_t { arrives, is_read, starts, ends };

/// A change of what a rank holds.
struct Change {
  Time time;
  TaskId action;  // for which it happens
  Turn turn;
  std::int64_t bytes;

  friend bool operator<(const Change& a, const Change& b) {
    return std::tie(a.time, a.action, a.turn) < std::tie(b.time, b.action, b.turn);
  }
};

/// The action after each on its rank.
std::vector<TaskId> next_on_rank(const Plan& plan) {
  const ResourceOrders orders = resource_orders(plan);
  std::vector<TaskId> next(plan.tasks(), no_task);
  for (std::uint32_t rank = 0; rank < plan.ranks; ++rank) {
    for (std::uint32_t at = orders.first[rank] + 1; at < orders.first[rank + 1]; ++at) {
      next[orders.tasks[at - 1]] = orders.tasks[at];
    }
  }
  return next;
}

class MemoryCount {
 public:
  MemoryCount(const Plan& plan, const Costs& costs, const Timeline& timeline)
      : plan_(plan),
        timeline_(timeline),
        next_(next_on_rank(plan)),
        changes_(plan.ranks),
        throughout_(plan.ranks) {
    for (std::uint32_t buffer = 0; buffer < plan.buffers.size(); ++buffer) {
      const auto& [kind, stage, rank] = plan.buffers[buffer];
      const auto bytes = static_cast<std::int64_t>(costs.bytes[buffer]);
      if (for_whole_run(kind)) {
        throughout_[index(rank)] += bytes;
      } else {
        differ_ = !sizes_.try_emplace({kind, stage, rank}, bytes).second || differ_;
      }
    }
    if (differ_) size_microbatches(costs);
    for (TaskId task = 0; task < plan.tasks(); ++task) {
      const WorkClass& work = plan.class_of(task);
      if (gives_gradient(work.pass)) trains_ = true;
      if (work.pass == Pass::recompute || work.recomputes) made_again_.insert(cell_of(task));
      if (work.pass == Pass::send_evicted) evictions_.emplace(plan.input[task], task);
    }
  }

  std::vector<std::uint64_t> peaks() {
    for (TaskId task = 0; task < plan_.tasks(); ++task) {
      if (!plan_.is_link(plan_.class_of(task).resource)) add_action(task);
    }
    std::vector<std::uint64_t> peaks;
    for (std::uint32_t rank = 0; rank < plan_.ranks; ++rank) peaks.push_back(peak_of(rank));
    return peaks;
  }

 private:
  Cell cell_of(TaskId task) const { return {plan_.class_of(task).stage, plan_.microbatch[task]}; }

  /// Where microbatches differ, each has buffers of its own, which its tasks name.
  void size_microbatches(const Costs& costs) {
    for (TaskId task = 0; task < plan_.tasks(); ++task) {
      for (const MemoryEffect& effect : plan_.class_of(task).effects) {
        const auto& [kind, stage, rank] = plan_.buffers[effect.buffer];
        own_sizes_[{kind, stage, rank, plan_.microbatch[task]}] =
            static_cast<std::int64_t>(costs.bytes[effect.buffer]);
      }
    }
  }

  std::int64_t size(BufferKind kind, Stage stage, Rank rank, Microbatch microbatch) const {
    if (differ_) {
      const auto found = own_sizes_.find({kind, stage, rank, microbatch});
      return found == own_sizes_.end() ? 0 : found->second;
    }
    const auto found = sizes_.find({kind, stage, rank});
    return found == sizes_.end() ? 0 : found->second;
  }

  void change(Rank rank, Time time, TaskId action, Turn turn, std::int64_t bytes) {
    if (bytes != 0) changes_[index(rank)].push_back({time, action, turn, bytes});
  }

  void add_action(TaskId task) {
    const WorkClass& work = plan_.class_of(task);
    const Rank rank{work.resource};
    const auto held = [&](BufferKind kind) {
      return size(kind, work.stage, rank, plan_.microbatch[task]);
    };
    const auto start = [&](std::int64_t bytes) {
      change(rank, timeline_.begin[task], task, Turn::starts, bytes);
    };
    const auto end = [&](std::int64_t bytes) {
      change(rank, timeline_.end[task], task, Turn::ends, bytes);
    };
    plan_.for_each_input(task, [&](TaskId input) { add_arrival(input, task, rank); });
    start(held(BufferKind::workspace));
    end(-held(BufferKind::workspace));
    const bool forward = work.pass == Pass::forward;
    if (forward) start(held(BufferKind::stash) + held(BufferKind::input_stash));
    if (work.pass == Pass::recompute || work.recomputes ||
        (forward && !made_again_.contains(cell_of(task)))) {
      start(held(BufferKind::recomputed));
    }
    if (trains_ ? ends_activation(work.pass) : forward) {
      end(-held(BufferKind::stash) - held(BufferKind::recomputed));
    }
    if (trains_ ? gives_gradient(work.pass) : forward) end(-held(BufferKind::input_stash));
    if (work.pass == Pass::backward_weight) end(-held(BufferKind::pending_weight));
    if (work.pass == Pass::backward_input) end(held(BufferKind::pending_weight));
    if (work.pass == Pass::evict) add_eviction(task, rank);
  }

  /// The F that reads a received activation: the first part of an overlap cell waits for what
  /// the second part reads. no_task: this cell waits for another reason.
  TaskId reader_of(TaskId transfer, TaskId action) const {
    const auto stage = [&](TaskId task) {
      return plan_.model_stage[index(plan_.class_of(task).stage)];
    };
    for (const TaskId part : {action, next_[action]}) {
      if (part == no_task || plan_.class_of(part).pass != Pass::forward) continue;
      const bool same = plan_.microbatch[part] == plan_.microbatch[transfer];
      if (!same || stage(part) != stage(transfer) + 1) continue;
      return part == action || !waits_for(part, transfer) ? part : no_task;
    }
    return no_task;
  }
  bool waits_for(TaskId action, TaskId transfer) const {
    bool waits = false;
    plan_.for_each_input(action, [&](TaskId input) { waits = waits || input == transfer; });
    return waits;
  }

  /// What an action reads, or the cell that it begins: a received activation, or one that comes
  /// back.
  void add_arrival(TaskId transfer, TaskId action, Rank rank) {
    const WorkClass& work = plan_.class_of(transfer);
    const Time begin = timeline_.begin[transfer], end = timeline_.end[transfer];
    const Microbatch moved = plan_.microbatch[transfer];
    if (work.pass == Pass::send_activation) {
      const std::int64_t bytes = size(BufferKind::receive, work.stage, rank, moved);
      const TaskId reader = reader_of(transfer, action);
      if (reader == no_task) return;
      change(rank, begin, action, Turn::arrives, bytes);
      // A fused cell reads all its inputs before either part starts.
      const TaskId reads = plan_.class_of(reader).follows_partner ? action : reader;
      change(rank, timeline_.begin[reader], reads, Turn::is_read, -bytes);
    }
    if (work.pass != Pass::send_loaded) return;
    change(rank, begin, action, Turn::arrives, size(BufferKind::stash, work.stage, rank, moved));
    const Rank keeper = plan_.link(work.resource).from;
    if (is_rank(keeper)) {
      change(keeper, end, action, Turn::arrives,
             -size(BufferKind::stash, work.stage, keeper, moved));
    }
  }

  void add_eviction(TaskId action, Rank rank) {
    const auto found = evictions_.find(action);
    if (found == evictions_.end()) return;
    const TaskId transfer = found->second;
    const WorkClass& work = plan_.class_of(transfer);
    const Microbatch moved = plan_.microbatch[transfer];
    change(rank, timeline_.end[transfer], action, Turn::ends,
           -size(BufferKind::stash, work.stage, rank, moved));
    const Rank keeper = plan_.link(work.resource).to;
    if (is_rank(keeper)) {
      change(keeper, timeline_.begin[transfer], action, Turn::ends,
             size(BufferKind::stash, work.stage, keeper, moved));
    }
  }

  std::uint64_t peak_of(std::uint32_t rank) {
    std::vector<Change>& changes = changes_[rank];
    std::stable_sort(changes.begin(), changes.end());
    std::int64_t held = throughout_[rank];
    std::int64_t most = held;
    for (std::size_t i = 0; i < changes.size();) {
      // At one turn, what is freed is free for what is taken.
      const Change& first = changes[i];
      for (; i < changes.size() && !(first < changes[i]); ++i) held += changes[i].bytes;
      most = std::max(most, held);
    }
    return static_cast<std::uint64_t>(most);
  }

  const Plan& plan_;
  const Timeline& timeline_;
  std::vector<TaskId> next_;
  std::map<std::tuple<BufferKind, Stage, Rank>, std::int64_t> sizes_;
  bool differ_ = false;  // microbatches, in size
  std::map<std::tuple<BufferKind, Stage, Rank, Microbatch>, std::int64_t> own_sizes_;
  std::set<Cell> made_again_;
  std::map<TaskId, TaskId> evictions_;  // the way out, by the action that requests it
  bool trains_ = false;
  std::vector<std::vector<Change>> changes_;  // by rank
  std::vector<std::int64_t> throughout_;
};

}  // namespace

std::vector<std::uint64_t> counted_memory_peaks(const Plan& plan, const Costs& costs,
                                                const Timeline& timeline) {
  return MemoryCount(plan, costs, timeline).peaks();
}

}  // namespace penstock
