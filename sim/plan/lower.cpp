#include "sim/plan/lower.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include "sim/base/large_pages.hpp"
#include "sim/order/weight_versions.hpp"
#include "sim/plan/comm_rows.hpp"
#include "sim/plan/recomputation.hpp"
#include "sim/plan/tail.hpp"
#include "sim/plan/work_classes.hpp"

namespace penstock {
namespace {

constexpr std::size_t nothing = HandoverEnds::nothing;

std::vector<bool> stages_with_backward(const ActionCounts& counts, const Placement& placement) {
  std::vector<bool> stages;
  for (const Stage stage : placement.stages()) stages.push_back(counts.has_backward(stage));
  return stages;
}

/// Only a split I and W frees part of an activation early; one that is moved goes as a whole.
Extras with_buffers_of(Extras extras, const ActionCounts& counts) {
  bool& early = extras.holds[static_cast<std::size_t>(BufferKind::input_stash)];
  early = early && counts.has(Pass::backward_weight) && !counts.has(Pass::evict);
  return extras;
}

/// The ends of all stages. Nobody reads a gradient that is for a stage without a backward.
std::vector<HandoverEnds> ends_with_readers(const Placement& placement, std::size_t columns,
                                            const ActionCounts& counts,
                                            const std::vector<bool>& exchanges) {
  std::vector<HandoverEnds> ends = find_stage_ends(placement, columns, exchanges);
  for (const Stage stage : placement.stages()) {
    const auto reader = placement.before(stage);
    if (!reader || counts.has_backward(*reader)) continue;
    ends[ends_of(Action(Pass::backward, stage, Microbatch{0}))].puts_out = nothing;
  }
  return ends;
}

/// Turns one order into a plan: rows and their cells, transfers, and communication where it is
/// written.
class OrderLowering {
 public:
  OrderLowering(const Schedule& schedule, const Placement& placement, Overlap overlap,
                const Extras& extras)
      : schedule_(schedule),
        placement_(placement),
        overlap_(overlap),
        exchanges_(extras.exchanges),
        counts_(schedule, placement),
        columns_(schedule),
        classes_(placement, stages_with_backward(counts_, placement),
                 with_buffers_of(extras, counts_), plan_),
        recomputation_(schedule, placement, counts_, columns_, extras.recomputing),
        tail_(schedule, placement, extras.tail, plan_, classes_),
        ends_(ends_with_readers(placement, columns_.count(), counts_, exchanges_)),
        arrived_(std::size_t{2} * placement.stage_count() * columns_.count(), not_yet) {
    for (Rank rank : Numbers<Rank>(schedule.ranks())) {
      const std::vector<Action>& order = schedule.on(rank);
      rows_.push_back({.begin = order.data(), .end = order.data() + order.size()});
    }
    if (extras.communication.written()) {
      comms_.emplace(extras.communication, schedule, placement, plan_, classes_, tail_,
                     [this](const Crossing& crossing) { return output_of(crossing); });
    }
    plan_.ranks = placement.ranks();
    plan_.microbatches = columns_.count();
    for (Stage stage : placement.stages()) plan_.model_stage.push_back(placement.position(stage));
    if (counts_.has(Pass::evict)) {
      stash_moved_.assign(std::size_t{placement.stage_count()} * columns_.count(), no_task);
    }
    const auto weights = weight_versions(schedule, placement);
    for (std::uint32_t slot = 0; slot < placement.slots(); ++slot) {
      classes_.keep_versions(slot, weights[slot].versions);
    }
  }

  std::variant<Plan, Deadlock> run() {
    reserve();
    for (Rank rank : Numbers<Rank>(schedule_.ranks())) runnable_.push_back(rank);
    for (std::vector<Rank> ranks; !runnable_.empty();) {
      ranks.clear();
      ranks.swap(runnable_);
      for (const Rank rank : ranks) advance(rank);
    }
    for (const Rank rank : Numbers<Rank>(schedule_.ranks())) {
      if (!is_done(rank)) return deadlock();
    }
    tail_.finish();
    plan_.in_one_order = links_in_order();
    plan_.written = comms_.has_value();
    return std::move(plan_);
  }

 private:
  /// The progress of a rank.
  struct Row {
    const Action* begin;
    const Action* end;
    const Action* next = begin;
    const Action* ahead = nullptr;  // its next action when early R's were last placed
    std::size_t waits_for = HandoverEnds::nothing;  // the output that it waits for
    TaskId last = no_task;                          // the last task placed

    std::uint32_t place() const { return static_cast<std::uint32_t>(next - begin); }
  };

  /// An action, or two that overlap; empty when the rank has finished.
  static std::span<const Action> next_cell(const Row& row) {
    if (row.next == row.end) return {};
    return {row.next, row.next->with_next ? std::size_t{2} : std::size_t{1}};
  }

  /// The output of another stage that an action reads, or `nothing`.
  std::size_t read_by(const Action& action) const {
    const std::size_t ends = ends_of(action);
    if (ends == nothing || ends_[ends].reads == nothing) return nothing;
    return ends_[ends].reads + columns_.column_of(action.microbatch);
  }

  /// Fills in `came_` for a cell whose inputs are all there; else says which is missing.
  bool find_inputs(std::span<const Action> cell, std::size_t& missing) {
    for (std::size_t part = 0; part < cell.size(); ++part) {
      const std::size_t input = read_by(cell[part]);
      came_[part] = input == nothing ? same_rank : arrived_[input];
      if (came_[part] != not_yet) continue;
      missing = input;
      return false;
    }
    return true;
  }

  /// The first action of a cell whose input is not there yet.
  const Action* stopped(std::span<const Action> cell) const {
    for (const Action& action : cell) {
      const std::size_t input = read_by(action);
      if (input != nothing && arrived_[input] == not_yet) return &action;
    }
    return nullptr;
  }

  bool is_done(Rank rank) const {
    const Row& row = rows_[index(rank)];
    return row.next == row.end && (!comms_ || comms_->next(rank, row.place()) == nullptr);
  }

  /// Loaded activations can become ready in another order than they were placed, and tensors that
  /// meet their RECVs outside of a stream; everything else comes from one rank.
  std::vector<bool> links_in_order() const {
    if (comms_ && !comms_->keeps_order()) return std::vector<bool>(plan_.links.size(), false);
    return stash_moved_.empty() ? std::vector<bool>(plan_.links.size(), true)
                                : links_in_one_order(plan_);
  }

  /// Places the cells of a rank until one lacks an input.
  void advance(Rank rank) {
    Row& row = rows_[index(rank)];
    row.waits_for = nothing;
    while (!comms_ || issue_comms(rank)) {
      const auto cell = next_cell(row);
      if (cell.empty()) return;
      if (recomputation_.early()) recompute_early(rank, cell);
      if (!find_inputs(cell, row.waits_for)) return;
      place(rank, cell);
      row.next += cell.size();
    }
  }

  /// Places the R's of a cell as soon as the rank reaches the cell. They wait only for their
  /// activations, if these were evicted, and for weights that an order gathers.
  void recompute_early(Rank rank, std::span<const Action> actions) {
    Row& row = rows_[index(rank)];
    if (row.ahead == row.next) return;
    row.ahead = row.next;
    std::array<TaskId, 4> loaded;
    std::size_t count = 0;
    for (const Action& action : actions) {
      if (!recomputation_.adds(action)) continue;
      if (const TaskId one = take_loaded(action); one != no_task) loaded[count++] = one;
      const TaskId gather = comms_ ? comms_->take_gathered(rank, action.stage) : no_task;
      if (gather != no_task) loaded[count++] = gather;
    }
    recompute_in_front(row, actions, add_inputs(plan_, {loaded.data(), count}));
  }

  /// Adds the R's of a cell, the first with this input. Returns the remaining input of the cell
  /// itself.
  TaskId recompute_in_front(Row& row, std::span<const Action> actions, TaskId input) {
    for (const Action& action : actions) {
      if (!recomputation_.adds(action)) continue;
      const Action again(Pass::recompute, action.stage, action.microbatch);
      row.last =
          add_task(plan_, classes_.compute(again, /*crosses=*/false), action.microbatch, input);
      input = no_task;
    }
    return input;
  }

  std::uint32_t class_of(const Action& action, bool crosses, bool in_cell) {
    if (!recomputation_.any()) return classes_.compute(action, crosses);
    const bool within = in_cell && !recomputation_.early() && recomputation_.adds(action);
    return classes_.compute(action, crosses,
                            within                      ? Recompute::within
                            : recomputation_.of(action) ? Recompute::before
                                                        : Recompute::none);
  }

  /// What an action starts after, encoded as `Plan::input`: the last task of its rank, and its
  /// inputs.
  TaskId start_of(const Row& row, TaskId input) {
    std::vector<TaskId> before;
    if (row.last != no_task) before.push_back(row.last);
    if (input != no_task && (input & Plan::several) == 0) before.push_back(input);
    if (input != no_task && (input & Plan::several) != 0) {
      const auto list = plan_.inputs.begin() + (input & ~Plan::several);
      before.insert(before.end(), list + 1, list + 1 + *list);
    }
    return add_inputs(plan_, before);
  }

  /// Adds one action, after what starts with it.
  TaskId place_part(Row& row, const Action& action, std::uint32_t work, TaskId input) {
    if (tail_.starts_early(action)) tail_.reduce_early(action, start_of(row, input));
    return row.last = add_task(plan_, work, action.microbatch, input);
  }

  /// The parts of a fused cell start together, and their tasks follow each other.
  std::array<TaskId, 2> place_fused(Rank rank, std::span<const Action> cell, TaskId input) {
    Row& row = rows_[index(rank)];
    for (const Action& action : cell) {
      if (tail_.starts_early(action)) tail_.reduce_early(action, start_of(row, input));
    }
    const std::uint32_t leading = class_of(cell[0], came_[0] >= first_task, true);
    const std::uint32_t following = class_of(cell[1], came_[1] >= first_task, true);
    const auto [one, two] = classes_.fused(leading, with_behind(rank, following, cell.size()));
    const TaskId first = add_task(plan_, one, cell[0].microbatch, input);
    row.last = add_task(plan_, two, cell[1].microbatch, no_task);
    plan_.followers.push_back(row.last);
    return {first, row.last};
  }

  void place(Rank rank, std::span<const Action> cell) {
    Row& row = rows_[index(rank)];
    const bool overlaps = cell.size() == 2;
    TaskId input = input_of(rank, cell);
    if (recomputation_.any() && !overlaps && !recomputation_.early()) {
      input = recompute_in_front(row, cell, input);
    }
    std::array<TaskId, 2> tasks{};
    if (overlaps && overlap_ == Overlap::fused) {
      tasks = place_fused(rank, cell, input);
    } else {
      for (std::size_t part = 0; part < cell.size(); ++part) {
        std::uint32_t work = class_of(cell[part], came_[part] >= first_task, overlaps);
        if (part + 1 == cell.size()) work = with_behind(rank, work, cell.size());
        tasks[part] = place_part(row, cell[part], work, input);
        // The second part of a cell stands behind the first on its rank, which waits for both.
        input = no_task;
      }
    }
    for (std::size_t part = 0; part < cell.size(); ++part) {
      hand_over(rank, cell[part], tasks[part]);
      tail_.follow(cell[part], tasks[part]);
    }
  }

  /// The transfers that bring what a cell reads, encoded as `Plan::input`.
  TaskId input_of(Rank rank, std::span<const Action> cell) {
    std::array<TaskId, 4> found;  // per part: one tensor, and its activation if that was evicted
    std::size_t count = 0;
    for (std::size_t part = 0; part < cell.size(); ++part) {
      if (came_[part] >= first_task) found[count++] = came_[part] - first_task;
      if (const TaskId loaded = take_loaded(cell[part]); loaded != no_task) found[count++] = loaded;
    }
    if (comms_) return written_input(rank, cell, {found.data(), count});
    if (count == 0) return no_task;
    return count == 1 ? found.front() : add_inputs(plan_, {found.data(), count});
  }

  /// The same with what the communication in front of the cell adds.
  TaskId written_input(Rank rank, std::span<const Action> cell, std::span<const TaskId> found) {
    std::vector<TaskId> inputs = comms_->take_waits(rank);
    inputs.insert(inputs.end(), found.begin(), found.end());
    for (std::size_t part = 0; part < cell.size(); ++part) {
      const TaskId gather = comms_->take_gathered(rank, cell[part].stage);
      if (gather != no_task) inputs.push_back(gather);
      if (came_[part] < first_task || read_by(cell[part]) == nothing) continue;
      const std::vector<TaskId>& arrival = comms_->arrival(read_by(cell[part]));
      inputs.insert(inputs.end(), arrival.begin(), arrival.end());
    }
    std::ranges::sort(inputs);
    inputs.erase(std::unique(inputs.begin(), inputs.end()), inputs.end());
    return add_inputs(plan_, inputs);
  }

  /// The place of a tensor among the outputs.
  std::size_t output_of(const Crossing& crossing) const {
    const Action maker(crossing.gradient ? Pass::backward : Pass::forward, crossing.sender,
                       crossing.microbatch);
    return ends_[ends_of(maker)].puts_out + columns_.column_of(crossing.microbatch);
  }

  /// Issues the communication in front of a rank's next action. False where a SEND that it waits
  /// for has no transfer yet.
  bool issue_comms(Rank rank) {
    Row& row = rows_[index(rank)];
    std::vector<CommRows::Moved> moved;
    const auto waits = comms_->issue(rank, row.place(), row.last, moved);
    if (waits) row.waits_for = *waits;
    for (const CommRows::Moved& one : moved) {
      if (one.received) arrived_[one.tensor] = first_task + one.transfer;
      wake(one.rank, one.tensor);
    }
    return !waits;
  }

  /// A rank can go on if it waits for this output.
  void wake(Rank rank, std::size_t output) {
    Row& waiting = rows_[index(rank)];
    if (waiting.waits_for != output) return;
    waiting.waits_for = nothing;
    runnable_.push_back(rank);
  }

  /// The class of the last of a rank's next actions, with what the cells behind it do to memory.
  std::uint32_t with_behind(Rank rank, std::uint32_t work, std::size_t actions) {
    if (!comms_) return work;
    const std::uint32_t behind = rows_[index(rank)].place() + static_cast<std::uint32_t>(actions);
    return comms_->holding(work, rank, behind);
  }

  /// Adds the transfer of E or L. A loaded activation must first have arrived at its keeper.
  void move_stash(Rank rank, const Action& action, TaskId producer) {
    TaskId& moved = stash_moved(action);
    const std::uint32_t work = classes_.stash_transfer(action, schedule_.keeper_of(rank));
    const std::array<TaskId, 2> inputs{producer, moved};
    const bool returns = action.pass == Pass::load;
    moved = add_task(plan_, work, action.microbatch,
                     add_inputs(plan_, {inputs.data(), returns ? 2U : 1U}));
  }

  TaskId& stash_moved(const Action& action) {
    return stash_moved_[std::size_t{index(action.stage)} * columns_.count() +
                        columns_.column_of(action.microbatch)];
  }

  /// The transfer that returns an activation to its first reader.
  TaskId take_loaded(const Action& action) {
    if (stash_moved_.empty() || !reads_activation(action.pass)) return no_task;
    return std::exchange(stash_moved(action), no_task);
  }

  /// Passes an action's output to its reader, with a transfer if that is another rank or it is
  /// exchanged.
  void hand_over(Rank rank, const Action& action, TaskId producer) {
    if (moves_stash(action.pass)) return move_stash(rank, action, producer);
    const std::size_t place = ends_of(action);
    if (place == nothing || ends_[place].puts_out == nothing) return;
    HandoverEnds& ends = ends_[place];
    const std::size_t output = ends.puts_out + columns_.column_of(action.microbatch);
    const Rank target =
        ends.one_way ? ends.target : placement_.rank_of(ends.reader, action.microbatch);
    if (target == rank && !ends.exchanged) {
      arrived_[output] = same_rank;
      return;
    }
    if (comms_) return;  // its SEND or EXCHANGE does
    const TaskId transfer = send(ends, action, producer);
    arrived_[output] = first_task + transfer;
    wake(target, output);
  }

  /// Adds the transfer of an output.
  TaskId send(HandoverEnds& ends, const Action& action, TaskId producer) {
    std::uint32_t work = ends.transfer;
    if (work == unnamed) {
      work = classes_.transfer(action, ends.reader);
      if (ends.one_way) ends.transfer = work;
    }
    return add_task(plan_, work, action.microbatch, producer);
  }

  /// Once no rank can go on.
  Deadlock deadlock() const {
    std::vector<std::optional<RowCell>> waiting(rows_.size());
    for (const Rank rank : Numbers<Rank>(schedule_.ranks())) {
      if (is_done(rank)) continue;
      const Row& row = rows_[index(rank)];
      const CommCell* const comm = comms_ ? comms_->next(rank, row.place()) : nullptr;
      waiting[index(rank)] = comm != nullptr ? RowCell(*comm) : RowCell(*stopped(next_cell(row)));
    }
    return find_deadlock(schedule_, placement_, waiting, comms_ ? &*comms_ : nullptr);
  }

  /// Counts the tasks first, to allocate the arrays once.
  void reserve() {
    std::uint64_t tasks = tail_.most_tasks();
    for (Stage stage : placement_.stages()) {
      for (std::size_t p = 0; p < pass_count; ++p) {
        const Pass pass{static_cast<std::uint8_t>(p)};
        const bool again = gives_gradient(pass) && recomputation_.of_stage(stage);
        const std::uint64_t each =
            1 + (may_send(placement_, stage, pass, exchanges_) ? 1 : 0) + (again ? 1 : 0);
        tasks += each * counts_.of(stage, pass);
      }
    }
    reserve_large(plan_.work, tasks);
    reserve_large(plan_.microbatch, tasks);
    reserve_large(plan_.input, tasks);
  }

  // What `arrived_` and `came_` hold: not yet, on the rank that reads it already, or first_task + a
  // transfer.
  static constexpr std::uint32_t not_yet = 0;
  static constexpr std::uint32_t same_rank = 1;
  static constexpr std::uint32_t first_task = 2;

  const Schedule& schedule_;
  const Placement& placement_;
  Overlap overlap_;
  const std::vector<bool>& exchanges_;
  ActionCounts counts_;
  MicrobatchColumns columns_;
  Plan plan_;
  WorkClasses classes_;  // writes into the plan
  Recomputation recomputation_;
  TailTasks tail_;
  std::optional<CommRows> comms_;        // where the order has its communication
  std::vector<HandoverEnds> ends_;       // by stage: of its activations, of its gradients
  std::vector<std::uint32_t> arrived_;   // by output: (activation or gradient, stage, microbatch)
  std::vector<TaskId> stash_moved_;      // by (stage, microbatch): the last transfer of its stash
  std::array<std::uint32_t, 2> came_{};  // how what each part of the cell at hand reads has come
  std::vector<Row> rows_;                // by rank
  std::vector<Rank> runnable_;           // the next to be looked at, in this order
};

}  // namespace

std::variant<Plan, Deadlock> lower(const Schedule& schedule, const Placement& placement,
                                   Overlap overlap, const Extras& extras) {
  return OrderLowering(schedule, placement, overlap, extras).run();
}

}  // namespace penstock
