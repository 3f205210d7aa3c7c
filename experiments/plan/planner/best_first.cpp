#include "experiments/plan/planner/best_first.hpp"

#include <algorithm>
#include <utility>

#include "experiments/input/long_work/parallel.hpp"
#include "experiments/input/scenario/take_stack.hpp"
#include "experiments/plan/planner/space/layout_choice.hpp"
#include "sim/base/error.hpp"

namespace penstock {
namespace {

/// Items that are worked on at a time, however many threads there are.
constexpr std::size_t taken_at_once = 32;

/// The front is first searched for layouts that need so much less memory than the known ones.
constexpr double rough_front = 1.1;

/// A step of any layout has as many documents as another only if microbatches hold as many tokens.
void check_documents(const PlanBase& base) {
  const auto& documents = base.scenario.batch;
  const bool alone = base.task.microbatch_given && base.task.microbatch == 1;
  if (!documents || documents->pack != Packing::none || alone) return;
  throw UsageError(
      "--set /batch: without \"pack\" a document is a microbatch; give --microbatch 1, so that a "
      "step of every layout takes as many");
}

}  // namespace

BestFirst::BestFirst(const PlanBase& base, const LayoutSpace& space, const PlannerOptions& options)
    : base_(base), space_(space), options_(options), frames_(base, space, options.space.only) {}

/// Families to find. Which of them are the best of documents only draws show, so a question about
/// one family finds as many as a list does.
std::size_t BestFirst::wanted() const {
  return base_.scenario.batch ? std::max(options_.best, options_.drawn) : options_.best;
}

bool BestFirst::may_fit(double bytes) const {
  const auto largest = base_.settled.memory.largest_peak_bytes();
  return options_.simulates_all || !largest || bytes <= static_cast<double>(*largest) + 1;
}

bool BestFirst::may_fit(const LayoutFrame& frame, std::uint32_t zero) const {
  return options_.simulates_all || ((frame.may_fit >> zero) & 1U) != 0;
}

/// Whether a codec encodes the activations of all layouts.
bool BestFirst::encodes() const { return base_.scenario.codec.encodes(); }

/// Activations that a rank keeps; 0: all.
std::uint32_t BestFirst::kept_of(const Item& item) const {
  const auto& all = base_.scenario.offload;
  return space_.offloads[item.offload].value_or(all ? all->keep.value_or(0) : 0);
}

void BestFirst::start() {
  const std::vector<DegreesBounds> bounds =
      frames_.price_degrees(options_.jobs, [this] { return !has_time(); });
  if (bounds.size() < space_.degrees.size()) {  // nothing is known of them
    plan_.stopped = true;
    plan_.slower_bound_us = 0;
  }
  for (std::uint32_t degrees = 0; degrees < bounds.size(); ++degrees) {
    queue_.push({.bound_us = bounds[degrees].bound_us,
                 .number = std::uint64_t{degrees} << 40U,
                 .degrees = degrees,
                 .holds = Holds::degrees,
                 .least_bytes = bounds[degrees].least_bytes});
  }
}

/// Whether a layout that needs these bytes may leave the memory free that is asked for.
bool BestFirst::leaves_room(double bytes) const {
  const auto& capacity = base_.settled.memory.capacity_bytes;
  return !capacity || bytes <= (1 - options_.headroom) * static_cast<double>(*capacity);
}

/// Those that an item may have layouts of.
std::vector<LayoutFamily> BestFirst::families_of(const Item& item) const {
  const LayoutFrame& frame = all_[item.frame];
  LayoutFamily family{.degrees = degrees_of(space_.degrees[frame.degrees])};
  std::vector<LayoutFamily> families;
  const auto add = [&](std::uint32_t order) {
    family.schedule = space_.orders[order].rule->name;
    for (const std::uint32_t zero : space_.zeros) {
      if (item.holds == Holds::layout && zero != item.zero) continue;
      family.sharded = runs_sharded(zero);
      if (families.empty() || families.back() != family) families.push_back(family);
    }
  };
  if (item.holds != Holds::frame) {
    add(item.order);
  } else {
    for (const std::uint32_t order : frames_.groups()[frame.group].orders) add(order);
  }
  return families;
}

/// Whether an item may have the best of a family that will be listed, or of one that is faster than
/// all that fit with headroom.
bool BestFirst::may_be_among_best(const Item& item) const {
  const bool fits = leaves_room(item.least_bytes);
  const double fastest_us = fitting_.at(1);
  const double listed_us =
      fits ? fitting_.at(wanted()) : std::min(fastest_us, tight_.at(most_tight));
  if (item.bound_us > std::min(listed_us, most_us_)) return false;
  if (item.holds == Holds::degrees) return true;
  const auto families = families_of(item);
  return std::any_of(families.begin(), families.end(), [&](const LayoutFamily& family) {
    if (fits && item.bound_us <= fitting_.of(family)) return true;
    return item.bound_us < fastest_us && item.bound_us <= tight_.of(family);
  });
}

/// What is compared over draws of documents has no front.
bool BestFirst::wants_front() const { return options_.front && !base_.scenario.batch; }

bool BestFirst::may_be_on_front(const Item& item, Aim aim) const {
  const double bytes = item.least_bytes * (aim == Aim::rough_front ? rough_front : 1);
  return wants_front() && leaves_room(item.least_bytes) && !front_.covers(item.bound_us, bytes);
}

bool BestFirst::is_wanted(const Item& item) const {
  if (options_.simulates_all) return true;
  return aim_ == Aim::best ? may_be_among_best(item) : may_be_on_front(item, aim_);
}

std::vector<BestFirst::Item> BestFirst::next_items() {
  std::vector<Item> items;
  while (items.size() < taken_at_once && !queue_.empty()) {
    if (is_wanted(queue_.top())) {
      items.push_back(queue_.top());
    } else if (may_be_on_front(queue_.top(), Aim::front)) {
      later_.push(queue_.top());
    }
    queue_.pop();
  }
  return items;
}

void BestFirst::report(PlanProgress progress) const {
  if (!options_.on_progress) return;
  progress.best_us.reset();
  if (fitting_.at(1) < std::numeric_limits<double>::infinity()) progress.best_us = fitting_.at(1);
  if (!queue_.empty()) progress.bound_us = queue_.top().bound_us;
  options_.on_progress(progress);
}

LayoutChoice BestFirst::choice_of(const Item& item) const {
  const LayoutFrame& frame = all_[item.frame];
  LayoutChoice choice =
      layout_of(base_.task, space_.degrees[frame.degrees], frame.sequence,
                space_.recomputations[frame.recomputation], space_.partitions[frame.partition],
                space_.orders[item.order], item.zero, space_.links[item.link]);
  choice.stash = space_.stashes[item.stash];
  choice.offload = space_.offloads[item.offload];
  return choice;
}

OrderShape BestFirst::shape_of(const Item& item) const {
  return frames_.shape(all_[item.frame], space_.orders[item.order], item.zero == 3);
}

/// Adds a layout with this codec and offloading, if its order has as many activations. What plain
/// ones need is no bound of its memory.
void BestFirst::store(const Item& like, std::size_t stash, std::size_t offload,
                      std::vector<Item>& items) const {
  const LayoutChoice& degrees = space_.degrees[like.degrees];
  if (!goes_with_offload(space_.offloads[offload], degrees, space_.orders[like.order])) return;
  Item other = like;
  if (space_.stashes[stash] || space_.offloads[offload]) other.least_bytes = 0;
  other.number += stash - like.stash + (offload - like.offload) * space_.stashes.size();
  other.stash = static_cast<std::uint8_t>(stash);
  other.offload = static_cast<std::uint16_t>(offload);
  items.push_back(std::move(other));
}

/// Whether an item stands for another that does not fit.
bool BestFirst::saves_memory(const Item& item) const {
  return item.stash >= tried_at_once(space_.stashes) ||
         item.offload >= tried_at_once(space_.offloads);
}

/// Codecs and offloading cost time, so they wait until a layout does not fit without.
void BestFirst::save_memory(const Item& item, std::vector<Item>& items) const {
  if (saves_memory(item)) return;
  for (std::size_t i = tried_at_once(space_.stashes); i < space_.stashes.size(); ++i) {
    store(item, i, item.offload, items);
  }
  for (std::size_t i = tried_at_once(space_.offloads); i < space_.offloads.size(); ++i) {
    store(item, item.stash, i, items);
  }
}

/// Whether a layout needs more memory than there is, or takes longer than known so far: then it is
/// counted, or waits for a later turn.
bool BestFirst::waits(Item& item, const OrderHolding& holding, Outcome& outcome) const {
  const LayoutFrame& frame = all_[item.frame];
  const std::uint32_t ranks = space_.degrees[frame.degrees].pipeline;
  const Placement& placement = *frames_.placement(frame.group, ranks);
  const bool plain = !space_.stashes[item.stash];  // codecs make what is kept smaller
  if (plain) {
    item.least_bytes = std::max(item.least_bytes, least_bytes_of(placement, *item.prices, holding,
                                                                 {&item.prices->held_bytes, 1}));
  }
  if (!may_fit(item.least_bytes)) {
    outcome.without_memory = 1;
    outcome.least_bytes = item.least_bytes;
    save_memory(item, outcome.items);
    return true;
  }
  double least_us = plain ? eviction_us(placement, *item.prices, holding) : 0;
  if (plain) {  // passes of ZeRO-3 may share gathers
    const auto& times = item.zero == 3 ? item.prices->shared_times : item.prices->times;
    least_us = std::max(least_us, walked_us(holding.walk, placement, times, shape_of(item)));
  }
  least_us *= bound_rounding;
  if (least_us <= item.bound_us) return false;
  outcome.items.push_back(item);
  outcome.items.back().bound_us = least_us;
  return true;
}

/// Simulates a layout unless its order alone says that it does not fit.
void BestFirst::judge(Item item, Outcome& outcome) {
  const auto room = room_for(choice_of(item));
  if (room == nullptr) {
    outcome.refused = 1;
    outcome.refusal = too_large_to_simulate;
    return;
  }
  const LayoutFrame& frame = all_[item.frame];
  const LayoutChoice& degrees = space_.degrees[frame.degrees];
  const auto holding =
      holdings_.of(space_.orders[item.order], *frames_.placement(frame.group, degrees.pipeline),
                   degrees.microbatches, kept_of(item));
  if (!holding->refusal.empty()) {
    outcome.refused = 1;
    outcome.refusal = holding->refusal;
    return;
  }
  const bool priced = !item.prices->times.empty();
  if (!priced || !waits(item, *holding, outcome)) simulate(item, outcome);
}

/// Waits for the memory to simulate a layout; nullptr: there is never as much.
std::unique_ptr<SimulationMemory::Use> BestFirst::room_for(const LayoutChoice& choice, bool draws) {
  return room_.take(static_cast<std::uint64_t>(simulation_bytes(choice, draws)));
}

Trial BestFirst::trial_in_room(const LayoutChoice& choice, bool draws) {
  const auto room = room_for(choice, draws);
  if (room != nullptr) return trial_of(choice, draws);
  Trial none;
  none.refusal = too_large_to_simulate;
  return none;
}

Trial BestFirst::trial_of(const LayoutChoice& choice, bool draws) const {
  return try_layout(with_choice(base_.scenario, base_.task, choice), base_.catalogue,
                    base_.settled.hardware.spec.clusters, draws);
}

void BestFirst::simulate(const Item& item, Outcome& outcome) {
  const LayoutChoice choice = choice_of(item);
  const Trial trial = trial_of(choice);
  if (!trial.refusal.empty()) {
    outcome.refused = 1;
    outcome.refusal = trial.refusal;
    return;
  }
  outcome.judged = JudgedLayout{choice, item.bound_us, item.least_bytes, trial, item.number};
  check_bounds(*outcome.judged);
  if (!has_headroom(trial)) save_memory(item, outcome.items);
}

BestFirst::Outcome BestFirst::work(const Item& item) {
  Outcome outcome;
  outcome.done = has_time();
  if (!outcome.done) return outcome;
  switch (item.holds) {
    case Holds::degrees:
      judge_frames(item, outcome);
      break;
    case Holds::frame:
      if (all_[item.frame].judged) {
        weigh_orders(item, outcome);
      } else {
        outcome.frame = all_[item.frame];
        frames_.judge(*outcome.frame);
      }
      break;
    case Holds::order:
      take_apart(item, outcome);
      break;
    case Holds::layout:
      judge(item, outcome);
      break;
  }
  return outcome;
}

/// Codecs and offloads that save memory count as layouts once they are judged.
void BestFirst::take(const Item& item, Outcome outcome) {
  if (!outcome.done) return queue_.push(item);
  const bool judged = outcome.judged || outcome.refused > 0 || outcome.without_memory > 0;
  if (judged && saves_memory(item)) ++plan_.legal;
  take_frames(item, std::move(outcome.frames));
  if (outcome.frame) {
    all_[item.frame] = *outcome.frame;
    queue_frame(item);
  }
  for (Item& one : outcome.items) queue_.push(std::move(one));
  if (outcome.refused > 0) add_excluded(outcome.refusal, outcome.refused, plan_.refused);
  plan_.without_memory += outcome.without_memory;
  if (outcome.without_memory > 0 &&
      (!plan_.least || outcome.least_bytes < plan_.least->least_bytes)) {
    plan_.least = TooLarge{.least_bytes = outcome.least_bytes};
    if (item.holds == Holds::layout) plan_.least->choice = choice_of(item);
  }
  if (outcome.judged) keep(std::move(*outcome.judged));
}

void BestFirst::keep(JudgedLayout judged) {
  ++plan_.simulated;
  if (!judged.trial.may_fit()) {
    plan_.too_large.push_back(std::move(judged));
    return;
  }
  const double us = to_us(judged.trial.makespan);
  const bool fits = has_headroom(judged.trial);
  (fits ? fitting_ : tight_).add(family_of(judged.choice), us);
  if (fits) front_.add(us, judged.trial.peak_bytes);
  (fits ? plan_.fitting : plan_.tight).push_back(std::move(judged));
}

/// Works until nothing is left that any aim up to this one wants, or the time is up.
void BestFirst::search(Aim last) {
  while (has_time()) {
    const std::vector<Item> items = next_items();
    if (items.empty()) {
      if (aim_ == last) return;
      aim_ = aim_ == Aim::best ? Aim::rough_front : Aim::front;
      std::swap(queue_, later_);
      continue;
    }
    std::vector<Outcome> outcomes(items.size());
    in_parallel(
        items.size(), [&](std::size_t i) { outcomes[i] = work(items[i]); }, {}, options_.jobs);
    for (std::size_t i = 0; i < items.size(); ++i) take(items[i], std::move(outcomes[i]));
    report({.simulated = plan_.simulated});
  }
}

LayoutPlan BestFirst::run() {
  plan_.task = base_.task;
  plan_.excluded = space_.excluded;
  plan_.legal = space_.legal;
  search_early();
  start();
  search(Aim::best);
  if (plan_.stopped || !queue_.empty()) keep_early();
  refine_cuts();
  place_on_ranks();
  place_on_own_devices();
  search(Aim::front);
  end_search();
  draw_documents();
  finish();
  if (const auto& machine = base_.settled.hardware.spec.machine) {
    plan_.device = machine->device.name;
    plan_.stacks = {machine->device.stack.name, base_.sharded.spec.machine->device.stack.name};
  }
  for (const std::string& note : base_.settled.hardware.notes) {
    if (note.starts_with(no_stack)) plan_.no_stack = note;
  }
  return std::move(plan_);
}

LayoutPlan plan_layouts(const TrainingTask& task, const Catalogue& catalogue,
                        const PlannerOptions& options) {
  const PlanBase base = about_settings(task, [&] { return plan_base(task, catalogue); });
  check_documents(base);
  const LayoutSpace space = space_of(task, options.space);
  LayoutPlan plan = BestFirst(base, space, options).run();
  if (plan.legal == 0) plan.none_because = why_no_layout(task, options.space);
  return plan;
}

}  // namespace penstock
