#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <map>
#include <set>

#include "schedules/patterns/offload.hpp"
#include "schedules/registry.hpp"
#include "sim/base/named.hpp"
#include "sim/order/order_fault.hpp"
#include "sim/plan/lower.hpp"
#include "sim/rerun/rerun.hpp"
#include "sim/timeline/plan_check.hpp"
#include "tests/support/reruns.hpp"

// Changes of orders: after them, a rerun is held against the edited order, lowered and run anew.

namespace penstock::testing {
namespace {

/// A stretch of a row, in which whole cells have changed places.
struct Shuffle {
  Rank rank;
  std::uint32_t first;
  std::vector<Action> actions;
};

/// Two to five neighbouring cells of some rank, one of them put at another place.
Shuffle random_shuffle(const Schedule& schedule) {
  const Rank rank{random_below(schedule.ranks())};
  std::vector<std::vector<Action>> cells;
  bool open = false;
  for (const Action& action : schedule.on(rank)) {
    if (!open) cells.emplace_back();
    cells.back().push_back(action);
    open = action.with_next;
  }
  Shuffle shuffle{rank, 0, {}};
  if (cells.empty()) return shuffle;
  const auto count = static_cast<std::uint32_t>(cells.size());
  const auto first = cells.begin() + random_below(count);
  for (auto cell = cells.begin(); cell != first; ++cell) {
    shuffle.first += static_cast<std::uint32_t>(cell->size());
  }
  const auto end = first + std::min<std::ptrdiff_t>(2 + random_below(4), cells.end() - first);
  const auto moved = first + random_below(static_cast<std::uint32_t>(end - first));
  if (random_below(2) == 0) {
    std::rotate(first, moved, moved + 1);
  } else {
    std::rotate(moved, moved + 1, end);
  }
  for (auto cell = first; cell != end; ++cell) {
    shuffle.actions.insert(shuffle.actions.end(), cell->begin(), cell->end());
  }
  return shuffle;
}

System edited(System system, const Shuffle& shuffle) {
  std::copy(shuffle.actions.begin(), shuffle.actions.end(),
            system.schedule.on(shuffle.rank).begin() + shuffle.first);
  return system;
}

std::optional<Plan> lowered_if_sound(const System& system) {
  if (find_order_fault(system.schedule, system.placement)) return std::nullopt;
  auto result = lower(system.schedule, system.placement, system.overlap, system.extras);
  if (std::holds_alternative<Deadlock>(result)) return std::nullopt;
  return std::get<Plan>(std::move(result));
}

std::vector<std::string> texts(const Plan& plan, const std::vector<TaskId>& tasks) {
  std::vector<std::string> all;
  for (const TaskId task : tasks) all.push_back(task_text(plan, task));
  return all;
}

void check_same_report(const Rerun& rerun, const Plan& plan, const Costs& costs,
                       const Timeline& timeline) {
  const Report got = summarize(rerun.plan(), rerun.costs(), rerun.timeline());
  const Report expected = summarize(plan, costs, timeline);
  RC_ASSERT(got.makespan == expected.makespan);
  const std::vector<bool> in_order = links_in_one_order(plan);
  RC_ASSERT(rerun.plan().in_one_order == links_in_one_order(rerun.plan()));
  if (std::all_of(in_order.begin(), in_order.end(), [](bool of_link) { return of_link; })) {
    RC_ASSERT(texts(rerun.plan(), tasks_of(got.critical_path)) ==
              texts(plan, tasks_of(expected.critical_path)));
  }
  for (std::size_t rank = 0; rank < got.ranks.size(); ++rank) {
    RC_ASSERT(got.ranks[rank].idle == expected.ranks[rank].idle);
    RC_ASSERT(got.ranks[rank].peak_activations == expected.ranks[rank].peak_activations);
    RC_ASSERT(got.ranks[rank].memory.bytes == expected.ranks[rank].memory.bytes);
  }
}

/// What a stretch of a row is in a plan, where R's that lowering added stand in front of cells.
Shuffle in_plan(const Shuffle& shuffle, const Schedule& schedule, const Plan& plan) {
  const ResourceOrders orders = resource_orders(plan);
  const TaskId* task = &orders.tasks[orders.first[index(shuffle.rank)]];
  std::map<std::string, std::vector<Action>> with_added;
  Shuffle found{shuffle.rank, 0, {}};
  std::uint32_t at = 0;
  for (const Action& action : schedule.on(shuffle.rank)) {
    std::vector<Action>& tasks = with_added[text(action)];
    do {
      const WorkClass& work = plan.class_of(*task);
      tasks.emplace_back(work.pass, work.stage, plan.microbatch[*task++]);
    } while (text(tasks.back()) != text(action));
    if (at++ < shuffle.first) found.first += static_cast<std::uint32_t>(tasks.size());
  }
  for (const Action& action : shuffle.actions) {
    const std::vector<Action>& tasks = with_added[text(action)];
    found.actions.insert(found.actions.end(), tasks.begin(), tasks.end());
  }
  return found;
}

/// The last B or W of each stage of a rank, the last of all first.
std::vector<std::string> last_gradients(const std::vector<Action>& row) {
  std::vector<std::string> last;
  std::set<Stage> seen;
  for (auto action = row.rbegin(); action != row.rend(); ++action) {
    if (!ends_activation(action->pass) || !seen.insert(action->stage).second) continue;
    last.push_back(text(*action));
  }
  return last;
}

/// What stands before the last B or W of each stage of a rank: an early sum starts with its end.
std::vector<std::string> before_last_gradients(const std::vector<Action>& row) {
  std::vector<std::string> before;
  std::set<Stage> seen;
  for (std::size_t i = row.size(); i-- > 1;) {
    if (!ends_activation(row[i].pass) || !seen.insert(row[i].stage).second) continue;
    before.push_back(text(row[i - 1]));
  }
  return before;
}

/// Whether two orders are lowered to other updates and sums of gradients: where these stay as they
/// are, an edit leads from one to the other, if at all, to a run of its own.
bool have_other_updates(const System& a, const System& b, const Shuffle& shuffle) {
  const auto& row = b.schedule.on(shuffle.rank);
  if (b.schedule.has(Pass::update)) {
    return std::any_of(shuffle.actions.begin(), shuffle.actions.end(),
                       [](const Action& action) { return action.pass == Pass::update; });
  }
  const auto& old = a.schedule.on(shuffle.rank);
  if (!b.extras.tail.early.empty() && before_last_gradients(old) != before_last_gradients(row)) {
    return true;
  }
  return !b.extras.tail.empty() && last_gradients(old) != last_gradients(row);
}

/// Makes one random edit in a rerun and in the system that it is a run of. False when these are of
/// different runs from then on.
bool shuffle_both(Rerun& rerun, System& system) {
  const Shuffle shuffle = random_shuffle(system.schedule);
  const System next = edited(system, shuffle);
  const auto plan = lowered_if_sound(next);
  const Shuffle edit = in_plan(shuffle, system.schedule, rerun.plan());
  const Rerun::Answer answer =
      rerun.reorder({edit.rank, edit.first, edit.actions}, system.placement);
  RC_LOG() << next.schedule << '\n';
  const bool done = std::holds_alternative<Rerun::Done>(answer);
  RC_ASSERT(is_full_run(rerun));
  check_plan(rerun.plan());
  if (have_other_updates(system, next, shuffle)) return !done;
  if (!plan) {
    RC_ASSERT(!done);
    return true;
  }
  const Costs costs = priced(next, *plan);
  const auto timeline = full_run({*plan, costs, conditions_for(*plan, rerun.conditions())});
  RC_ASSERT(done == timeline.has_value());
  if (!timeline) return true;
  system = next;
  // Of sends that leave at one moment, the numbers of their links say which a rank waited for last,
  // and lowering numbers links in the order it comes upon them.
  const bool inputs = !rerun.conditions().blocking_sends;
  RC_ASSERT(spans_by_text(rerun.plan(), rerun.timeline(), inputs) ==
            spans_by_text(*plan, *timeline, inputs));
  check_same_report(rerun, *plan, costs, *timeline);
  return true;
}

/// Up to so many edits.
void shuffle_often(Rerun& rerun, System& system, int edits) {
  while (edits-- > 0 && shuffle_both(rerun, system)) continue;
}

std::string refusal(const Rerun::Answer& answer) {
  REQUIRE(std::holds_alternative<Refused>(answer));
  return std::get<Refused>(answer).text;
}

/// The actions of one row.
std::vector<Action> row(const char* csv) { return order_of(csv).on(Rank{0}); }

}  // namespace

TEST_CASE("an order changed at random places runs as if lowered anew, or is not changed") {
  CHECK(rc::check([] {
    System system = random_system();
    Rerun rerun = *rerun_of(system);
    shuffle_often(rerun, system, 6);
  }));
}

TEST_CASE("so does one that runs under conditions") {
  CHECK(rc::check([] {
    System system = random_system();
    system.hardware = link(0, 1e9);
    const Plan plan = lowered(system);
    auto rerun = rerun_of(system, random_conditions(plan, priced(system, plan)));
    if (!rerun) return;
    shuffle_often(*rerun, system, 4);
  }));
}

TEST_CASE("and one that moves activations away and back") {
  CHECK(rc::check([] {
    System system = random_system();
    try {
      system.schedule = offloaded(system.schedule, {.keep = 1 + random_below(3)});
    } catch (const RuleError&) {
      return;  // an order that needs to keep more
    }
    auto rerun = rerun_of(system);
    shuffle_often(*rerun, system, 4);
  }));
}

TEST_CASE("and every schedule of the catalogue") {
  for (const ScheduleEntry* entry : schedule_entries()) {
    CAPTURE(entry->name);
    const Placement placement = entry->place(4, entry->default_chunks);
    const Schedule schedule = make_schedule(*entry, placement, {8, {}});
    const auto stages = placement.chains().front().size();
    CHECK(rc::check([&] {
      System system{placement, schedule, std::vector<Layer>(stages, stage_of(2, 3, 1)), delay(1)};
      auto rerun = rerun_of(system);
      shuffle_often(*rerun, system, 4);
    }));
  }
}

TEST_CASE("changes of orders and of costs in turn end as a full run") {
  CHECK(rc::check([] {
    System system = random_system();
    Rerun rerun = *rerun_of(system, {}, Time{random_below(500'000)}, Time{random_below(500'000)});
    for (int i = 0; i < 8; ++i) {
      const Plan& plan = rerun.plan();
      rerun.set_task_duration(random_below(plan.tasks()), Time{random_below(4'000'000)});
      const Shuffle shuffle = random_shuffle(system.schedule);
      const Shuffle edit = in_plan(shuffle, system.schedule, plan);
      const auto answer = rerun.reorder({edit.rank, edit.first, edit.actions}, system.placement);
      if (std::holds_alternative<Rerun::Done>(answer)) system = edited(system, shuffle);
      RC_ASSERT(is_full_run(rerun));
    }
  }));
}

TEST_CASE("two neighbours that change places, by hand") {
  // Two ranks, F 1 us, B 2 us, free links. Rank 1 runs F0 1-2, B0 2-4, F1 4-5, B1 5-7, so that rank
  // 0 ends with B1 at 9. With F1 in front of B0: F0 1-2, F1 2-3, B0 3-5, B1 5-7; rank 0 has to wait
  // until 5 for its B0, and ends at 9 still.
  Rerun rerun = *rerun_of({Placement::loop(2, 1),
                           order_of("0F0,0F1,0B0,0B1\n1F0,1B0,1F1,1B1"),
                           {stage_of(1, 2), stage_of(1, 2)}});
  const auto span = [&](std::string_view task) {
    return span_text({rerun.plan(), rerun.costs(), rerun.timeline(), {}}, task);
  };
  CHECK(span("0B0") == "0B0 4-6");
  const auto actions = row("1F1,1B0");
  const auto answer = rerun.reorder({Rank{1}, 1, actions}, Placement::loop(2, 1));
  REQUIRE(std::holds_alternative<Rerun::Done>(answer));
  CHECK(span("1F1") == "1F1 2-3");
  CHECK(span("1B0") == "1B0 3-5");
  CHECK(span("0B0") == "0B0 5-7");
  CHECK(span("0B1") == "0B1 7-9");
}

TEST_CASE("an order after which ranks wait for each other is not taken on") {
  // Rank 0 sends its second microbatch only when the first has come back, so rank 1 cannot begin
  // with the second.
  Rerun rerun = *rerun_of({Placement::loop(2, 1),
                           order_of("0F0,0B0,0F1,0B1\n1F0,1B0,1F1,1B1"),
                           {stage_of(1, 2), stage_of(1, 2)}});
  const Timeline before = rerun.timeline();
  const auto actions = row("1F1,1B1,1F0,1B0");
  const auto answer = rerun.reorder({Rank{1}, 0, actions}, Placement::loop(2, 1));
  REQUIRE(std::holds_alternative<Deadlock>(answer));
  CHECK(text(std::get<Deadlock>(answer)) ==
        "deadlock: 0B0 of rank 0 waits for 1B0 of rank 1, which follows 1F1; 1F1 of rank 1 waits "
        "for 0F1 of rank 0, which follows 0B0");
  CHECK(rerun.timeline().begin == before.begin);
  CHECK(is_full_run(rerun));
}

TEST_CASE("an order in which memory would never be free is not taken on") {
  // One rank with room for one activation. With both F's first, the second could never start.
  Layer stage = stage_of(1, 1);
  stage.stash_bytes = 100;
  Conditions conditions;
  conditions.stall_above_bytes = 100;
  Rerun rerun =
      *rerun_of({Placement::loop(1, 1), order_of("0F0,0B0,0F1,0B1"), {stage}}, conditions);
  const std::uint64_t plan = plan_hash(rerun.plan());
  const auto actions = row("0F1,0B0");
  const auto answer = rerun.reorder({Rank{0}, 1, actions}, Placement::loop(1, 1));
  CHECK(std::holds_alternative<Standstill>(answer));
  CHECK(plan_hash(rerun.plan()) == plan);
  CHECK(is_full_run(rerun));
}

TEST_CASE("an edit that takes apart what belongs together is refused") {
  const auto refused = [](const char* csv, Overlap overlap, std::uint32_t first,
                          const char* actions) {
    Rerun rerun = *rerun_of({Placement::loop(2, 1),
                             order_of(std::string(csv) + "\n1F0,1B0,1F1,1B1"),
                             {stage_of(1, 2), stage_of(1, 2)},
                             {},
                             overlap});
    const auto stretch = row(actions);
    const std::string text =
        refusal(rerun.reorder({Rank{0}, first, stretch}, Placement::loop(2, 1)));
    CHECK(is_full_run(rerun));
    return text;
  };
  const char* plain = "0F0,0F1,0B0,0B1";
  const char* cell = "0F0,(0F1;0B0)OVERLAP_F_B,0B1";
  CHECK(refused(plain, Overlap::serial, 1, "0B0,0F0") ==
        "0F0 is not among the 2 actions from place 1 on of rank 0");
  CHECK(refused(plain, Overlap::serial, 1, "0B0,0B0") == "0B0 occurs twice");
  CHECK(refused(plain, Overlap::serial, 3, "0B1,0B0") ==
        "the 2 actions from place 3 on of rank 0 do not exist; it has 4");
  CHECK(refused(plain, Overlap::serial, 1, "0B1,0F1,0B0") ==
        "0B1 needs 0F1, which would follow it");
  for (const Overlap overlap : {Overlap::serial, Overlap::fused}) {
    CHECK(refused(cell, overlap, 1, "0B0,0F1") ==
          "0F1 and 0B0 are one cell; nothing can come between them");
    CHECK(refused(cell, overlap, 2, "0B1,0B0") ==
          "0F1 and 0B0 are one cell; nothing can come between them");
  }
}

TEST_CASE("an update keeps its place among the actions of its stage") {
  // U0 takes in the gradient of microbatch 0: B1 must not come before it, nor F1, which would meet
  // other weights.
  Schedule schedule = order_of("0F0,0B0,0F1,0B1");
  auto& actions = schedule.on(Rank{0});
  actions.insert(actions.begin() + 2, Action(Pass::update, Stage{0}, Microbatch{0}));
  Rerun rerun = *rerun_of({Placement::loop(1, 1), schedule, {stage_of(1, 2)}});
  std::vector<Action> swapped{actions[3], actions[2]};
  CHECK(refusal(rerun.reorder({Rank{0}, 2, swapped}, Placement::loop(1, 1))) ==
        "0F1 would move across an update of stage 0");
}

TEST_CASE("what is the last gradient of a stage stays the last, where something follows it") {
  // One rank whose B1 is followed by the sum over the data replicas.
  const System system{Placement::loop(1, 1), order_of("0F0,0F1,0B0,0B1"), {stage_of(1, 2)}};
  Plan plan = lowered(system);
  Costs costs = priced(system, plan);
  plan.links.push_back({Rank{0}, data_replicas});
  plan.work.push_back(static_cast<std::uint32_t>(plan.classes.size()));
  plan.microbatch.push_back(Microbatch{1});
  plan.input.push_back(task_of(plan, "0B1"));
  plan.classes.push_back({.pass = Pass::reduce_gradient,
                          .stage = Stage{0},
                          .resource = plan.ranks,
                          .buffer = 0,
                          .effects = {}});
  costs.duration.push_back(from_us(1));
  costs.latency.push_back({});
  Timeline timeline = *full_run({plan, costs});
  Rerun rerun({plan, costs}, timeline);
  const auto last = row("0B1,0B0");
  CHECK(refusal(rerun.reorder({Rank{0}, 2, last}, system.placement)) ==
        "0B0 would follow 0B1, after which the gradients of stage 0 are complete");
  const auto first = row("0F1,0F0");
  CHECK(std::holds_alternative<Rerun::Done>(rerun.reorder({Rank{0}, 0, first}, system.placement)));
  CHECK(is_full_run(rerun));
}

}  // namespace penstock::testing
