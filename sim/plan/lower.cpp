#include "sim/plan/lower.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <deque>
#include <optional>
#include <span>
#include <utility>

#include "sim/base/error.hpp"
#include "sim/order/microbatch_columns.hpp"
#include "sim/order/weight_versions.hpp"
#include "sim/plan/recomputation.hpp"
#include "sim/plan/tail.hpp"
#include "sim/plan/work_classes.hpp"

namespace penstock {
namespace {

constexpr std::size_t nothing = SIZE_MAX;

/// The stage whose output an action reads, if it is another stage's.
std::optional<Stage> source(const Placement& placement, const Action& action) {
  if (action.pass == Pass::forward) return placement.before(action.stage);
  if (gives_gradient(action.pass)) return placement.after(action.stage);
  return std::nullopt;
}

/// The stage that reads an action's output, if any does.
std::optional<Stage> reader(const Placement& placement, const Action& action) {
  if (action.pass == Pass::forward) return placement.after(action.stage);
  if (gives_gradient(action.pass)) return placement.before(action.stage);
  return std::nullopt;
}

class Lowering {
 public:
  Lowering(const Schedule& schedule, const Placement& placement, Overlap overlap,
           const Extras& extras);
  std::variant<Plan, Deadlock> run();

 private:
  std::span<const Action> next_cell(Rank rank) const;
  std::size_t key(Stage stage, bool gradient, Microbatch microbatch) const;
  std::size_t read_by(const Action& action) const;
  const Action* stopped(std::span<const Action> cell) const;

  void advance(Rank rank);
  void recompute_early(Rank rank, std::span<const Action> cell);
  TaskId recompute_in_front(std::span<const Action> cell, TaskId input);
  void place(Rank rank, std::span<const Action> cell);
  std::uint32_t class_of(const Action& action, bool in_cell);
  void hand_over(Rank rank, const Action& action, TaskId producer);
  void move_stash(Rank rank, const Action& action, TaskId producer);
  TaskId take_loaded(const Action& action);
  TaskId list_of(std::span<const TaskId> inputs);
  TaskId input_of(std::span<const Action> cell);
  void reserve();
  Deadlock deadlock() const;
  Action producer_for(const Action& action, Stage stage, Rank rank) const;

  // What `arrived_` holds: not yet, on the rank that reads it already, or first_task + a transfer.
  static constexpr std::uint32_t not_yet = 0;
  static constexpr std::uint32_t same_rank = 1;
  static constexpr std::uint32_t first_task = 2;

  const Schedule& schedule_;
  const Placement& placement_;
  Overlap overlap_;
  MicrobatchColumns columns_;
  Plan plan_;
  WorkClasses classes_;  // writes into the plan
  Recomputation recomputation_;
  TailTasks tail_;
  std::vector<std::uint32_t> arrived_;  // by output: (activation or gradient, stage, microbatch)
  std::vector<TaskId> stash_moved_;     // by (stage, microbatch): the last transfer of its stash
  std::vector<std::size_t> cursor_;     // by rank: the next action
  std::vector<std::size_t> ahead_;      // by rank: its next action when early R's were placed last
  std::vector<std::size_t> waits_for_;  // by rank: the output it was last stopped by
  std::deque<Rank> runnable_;
};

Lowering::Lowering(const Schedule& schedule, const Placement& placement, Overlap overlap,
                   const Extras& extras)
    : schedule_(schedule),
      placement_(placement),
      overlap_(overlap),
      columns_(schedule),
      classes_(placement, schedule.has_backward(), extras, plan_),
      recomputation_(schedule, placement, columns_, extras.recomputing),
      tail_(schedule, placement, extras.tail, plan_, classes_),
      arrived_(std::size_t{2} * placement.stage_count() * columns_.count(), not_yet),
      cursor_(schedule.ranks(), 0),
      ahead_(schedule.ranks(), nothing),
      waits_for_(schedule.ranks(), nothing) {
  plan_.ranks = placement.ranks();
  plan_.microbatches = columns_.count();
  for (Stage stage : placement.stages()) plan_.model_stage.push_back(placement.position(stage));
  if (schedule.has(Pass::evict)) {
    stash_moved_.assign(std::size_t{placement.stage_count()} * columns_.count(), no_task);
  }
  const auto weights = weight_versions(schedule, placement);
  for (std::uint32_t slot = 0; slot < placement.slots(); ++slot) {
    classes_.keep_versions(slot, weights[slot].versions);
  }
}

std::span<const Action> Lowering::next_cell(Rank rank) const {
  const auto& order = schedule_.on(rank);
  const std::size_t at = cursor_[index(rank)];
  if (at == order.size()) return {};
  return {&order[at], order[at].with_next ? std::size_t{2} : std::size_t{1}};
}

std::size_t Lowering::key(Stage stage, bool gradient, Microbatch microbatch) const {
  const std::size_t row = index(stage) + (gradient ? placement_.stage_count() : 0);
  return row * columns_.count() + columns_.column_of(microbatch);
}

/// The output of another stage that an action reads, or `nothing`.
std::size_t Lowering::read_by(const Action& action) const {
  const auto from = source(placement_, action);
  return from ? key(*from, gives_gradient(action.pass), action.microbatch) : nothing;
}

/// The first action of a cell whose input is not there yet; null when all are.
const Action* Lowering::stopped(std::span<const Action> cell) const {
  for (const Action& action : cell) {
    const std::size_t input = read_by(action);
    if (input != nothing && arrived_[input] == not_yet) return &action;
  }
  return nullptr;
}

std::variant<Plan, Deadlock> Lowering::run() {
  reserve();
  for (Rank rank : Numbers<Rank>(schedule_.ranks())) runnable_.push_back(rank);
  while (!runnable_.empty()) {
    const Rank rank = runnable_.front();
    runnable_.pop_front();
    advance(rank);
  }
  for (Rank rank : Numbers<Rank>(schedule_.ranks())) {
    if (!next_cell(rank).empty()) return deadlock();
  }
  tail_.finish();
  return std::move(plan_);
}

/// Places the cells of a rank until one lacks an input.
void Lowering::advance(Rank rank) {
  waits_for_[index(rank)] = nothing;
  for (auto cell = next_cell(rank); !cell.empty(); cell = next_cell(rank)) {
    if (recomputation_.early()) recompute_early(rank, cell);
    if (const Action* waits = stopped(cell)) {
      waits_for_[index(rank)] = read_by(*waits);
      return;
    }
    place(rank, cell);
    cursor_[index(rank)] += cell.size();
  }
}

/// Puts the R's of a cell onto its rank as soon as the rank comes to the cell. They wait for
/// nothing but their activations, where these were away.
void Lowering::recompute_early(Rank rank, std::span<const Action> cell) {
  if (ahead_[index(rank)] == cursor_[index(rank)]) return;
  ahead_[index(rank)] = cursor_[index(rank)];
  std::array<TaskId, 2> loaded;
  std::size_t count = 0;
  for (const Action& action : cell) {
    if (!recomputation_.adds(action)) continue;
    if (const TaskId one = take_loaded(action); one != no_task) loaded[count++] = one;
  }
  recompute_in_front(cell, list_of({loaded.data(), count}));
}

/// Adds the R's that a cell needs, the first with this input. Returns what is left of the input for
/// the cell itself.
TaskId Lowering::recompute_in_front(std::span<const Action> cell, TaskId input) {
  if (!recomputation_.any()) return input;
  for (const Action& action : cell) {
    if (!recomputation_.adds(action)) continue;
    const Action again(Pass::recompute, action.stage, action.microbatch);
    add_task(plan_, classes_.compute(again, /*crosses=*/false), action.microbatch, input);
    input = no_task;
  }
  return input;
}

std::uint32_t Lowering::class_of(const Action& action, bool in_cell) {
  const std::size_t input = read_by(action);
  const bool crosses = input != nothing && arrived_[input] >= first_task;
  if (!recomputation_.any()) return classes_.compute(action, crosses);
  const bool within = in_cell && !recomputation_.early() && recomputation_.adds(action);
  return classes_.compute(action, crosses,
                          within                      ? Recompute::within
                          : recomputation_.of(action) ? Recompute::before
                                                      : Recompute::none);
}

void Lowering::place(Rank rank, std::span<const Action> cell) {
  const bool overlaps = cell.size() == 2;
  const bool fused = overlaps && overlap_ == Overlap::fused;
  TaskId input = input_of(cell);
  if (!overlaps && !recomputation_.early()) input = recompute_in_front(cell, input);
  const TaskId first = plan_.tasks();
  for (const Action& action : cell) {
    add_task(plan_, class_of(action, overlaps), action.microbatch, input);
    // The second part of a cell stands behind the first on its rank, which waits for both.
    input = no_task;
  }
  if (fused) {
    const auto [one, two] = classes_.fused(plan_.work[first], plan_.work[first + 1]);
    plan_.work[first] = one;
    plan_.work[first + 1] = two;
    plan_.followers.push_back(first + 1);
  }
  for (std::size_t part = 0; part < cell.size(); ++part) {
    const TaskId task = first + static_cast<TaskId>(part);
    hand_over(rank, cell[part], task);
    tail_.follow(cell[part], task);
  }
}

/// The transfers that bring what a cell reads, as `Plan::input` writes them.
TaskId Lowering::input_of(std::span<const Action> cell) {
  std::array<TaskId, 4> found;  // each part reads one tensor, and its activation if that was away
  std::size_t count = 0;
  for (const Action& action : cell) {
    const std::size_t input = read_by(action);
    if (input != nothing && arrived_[input] >= first_task) {
      found[count++] = arrived_[input] - first_task;
    }
    if (const TaskId loaded = take_loaded(action); loaded != no_task) found[count++] = loaded;
  }
  return list_of({found.data(), count});
}

TaskId Lowering::list_of(std::span<const TaskId> inputs) {
  if (inputs.empty()) return no_task;
  if (inputs.size() == 1) return inputs.front();
  const auto list = static_cast<std::uint32_t>(plan_.inputs.size());
  plan_.inputs.push_back(static_cast<std::uint32_t>(inputs.size()));
  plan_.inputs.insert(plan_.inputs.end(), inputs.begin(), inputs.end());
  return list | Plan::several;
}

/// Adds the transfer that E or L asks for. What comes back must have arrived where it was kept.
void Lowering::move_stash(Rank rank, const Action& action, TaskId producer) {
  TaskId& moved = stash_moved_[key(action.stage, /*gradient=*/false, action.microbatch)];
  const std::uint32_t work = classes_.stash_transfer(action, schedule_.keeper_of(rank));
  const std::array<TaskId, 2> inputs{producer, moved};
  const bool returns = action.pass == Pass::load;
  moved = add_task(plan_, work, action.microbatch, list_of({inputs.data(), returns ? 2U : 1U}));
}

/// The transfer that brings an activation back to the first action that reads it.
TaskId Lowering::take_loaded(const Action& action) {
  if (stash_moved_.empty() || !reads_activation(action.pass)) return no_task;
  return std::exchange(stash_moved_[key(action.stage, /*gradient=*/false, action.microbatch)],
                       no_task);
}

/// Makes an action's output available to its reader, by a transfer when that is on another rank.
void Lowering::hand_over(Rank rank, const Action& action, TaskId producer) {
  if (moves_stash(action.pass)) return move_stash(rank, action, producer);
  const auto to = reader(placement_, action);
  if (!to) return;
  const std::size_t output = key(action.stage, gives_gradient(action.pass), action.microbatch);
  const Rank target = placement_.rank_of(*to, action.microbatch);
  if (target == rank) {
    arrived_[output] = same_rank;
    return;
  }
  const TaskId transfer =
      add_task(plan_, classes_.transfer(action, *to), action.microbatch, producer);
  arrived_[output] = first_task + transfer;
  if (waits_for_[index(target)] == output) {
    waits_for_[index(target)] = nothing;
    runnable_.push_back(target);
  }
}

/// Counts the tasks first, so that the arrays are allocated once and no larger than needed.
void Lowering::reserve() {
  std::uint64_t tasks = schedule_.actions() + tail_.most_tasks();
  for (Rank rank : Numbers<Rank>(schedule_.ranks())) {
    for (const Action& action : schedule_.on(rank)) {
      const auto to = reader(placement_, action);
      const bool sends = to && placement_.rank_of(*to, action.microbatch) != rank;
      if (sends || moves_stash(action.pass)) ++tasks;
      if (recomputation_.any() && recomputation_.adds(action)) ++tasks;
    }
  }
  plan_.work.reserve(tasks);
  plan_.microbatch.reserve(tasks);
  plan_.input.reserve(tasks);
}

/// The action of `rank`, which holds `stage`, that would produce what an action waits for; that it
/// exists is what `find_order_fault` makes sure of.
Action Lowering::producer_for(const Action& action, Stage stage, Rank rank) const {
  const bool gradient = gives_gradient(action.pass);
  for (const Action& other : schedule_.on(rank)) {
    if (other.stage == stage && other.microbatch == action.microbatch &&
        (gradient ? gives_gradient(other.pass) : other.pass == Pass::forward)) {
      return other;
    }
  }
  throw InputError(fmt::format("{} needs {} of stage {}, which no rank runs", text(action),
                               gradient ? "the gradient" : "the activation", index(stage)));
}

/// Follows who waits for whom from the first stuck rank until a rank comes up again.
Deadlock Lowering::deadlock() const {
  Rank rank{0};
  while (next_cell(rank).empty()) rank = Rank{index(rank) + 1};
  std::vector<Wait> path;
  const auto seen_at = [&](Rank wanted) {
    return std::find_if(path.begin(), path.end(), [&](const Wait& w) { return w.rank == wanted; });
  };
  while (seen_at(rank) == path.end()) {
    const Action& waits = *stopped(next_cell(rank));
    const Stage wanted = *source(placement_, waits);
    const Rank other = placement_.rank_of(wanted, waits.microbatch);
    path.push_back({rank, waits, producer_for(waits, wanted, other), other});
    rank = other;
  }
  return {{seen_at(rank), path.end()}};
}

}  // namespace

std::string text(const Deadlock& deadlock) {
  std::string all = "deadlock: ";
  for (std::size_t i = 0; i < deadlock.circle.size(); ++i) {
    const Wait& wait = deadlock.circle[i];
    const Wait& next = deadlock.circle[(i + 1) % deadlock.circle.size()];
    if (i != 0) all += "; ";
    all += fmt::format("{} of rank {} waits for {} of rank {}", text(wait.action), index(wait.rank),
                       text(wait.needs), index(wait.needs_rank));
    const bool direct = next.action.stage == wait.needs.stage &&
                        next.action.pass == wait.needs.pass &&
                        next.action.microbatch == wait.needs.microbatch;
    if (!direct) all += fmt::format(", which stands behind {}", text(next.action));
  }
  return all;
}

std::variant<Plan, Deadlock> lower(const Schedule& schedule, const Placement& placement,
                                   Overlap overlap, const Extras& extras) {
  return Lowering(schedule, placement, overlap, extras).run();
}

}  // namespace penstock
