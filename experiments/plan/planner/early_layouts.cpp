#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "experiments/plan/planner/best_first.hpp"
#include "experiments/plan/planner/space/layout_choice.hpp"
#include "experiments/plan/planner/space/layout_rules.hpp"
#include "experiments/plan/planner/space/layout_space.hpp"

namespace penstock {
namespace {

/// Degrees that are searched early. Spaces with few more are searched soon anyway.
constexpr std::size_t most_early = 256;

/// Keeps what is simple, if there is any.
template <class Choice, class IsSimple>
void keep_simple(std::vector<Choice>& all, IsSimple is_simple) {
  if (std::ranges::any_of(all, is_simple)) std::erase_if(all, std::not_fn(is_simple));
}

template <class Choice>
void keep_first(std::vector<Choice>& all) {
  all.erase(all.begin() + std::min<std::ptrdiff_t>(1, std::ssize(all)), all.end());
}

/// A part of a space: degrees at equal distances, plain 1F1B, everything or nothing recomputed.
LayoutSpace early_space(LayoutSpace space) {
  std::vector<LayoutChoice> degrees;
  for (std::size_t i = 0; i < most_early; ++i) {
    degrees.push_back(space.degrees[i * space.degrees.size() / most_early]);
  }
  space.degrees = std::move(degrees);
  keep_simple(space.orders, [](const OrderChoice& order) {
    return order.rule->name == "1f1b" && !order.hides_experts && order.why_not == nullptr;
  });
  keep_simple(space.recomputations, [](const RecomputeChoice& one) {
    const bool whole = one.mode == "none" || (one.mode == "full" && !one.stages);
    return whole && !one.takes_some_layers();
  });
  keep_first(space.partitions);
  keep_first(space.links);
  space.stashes.resize(tried_at_once(space.stashes));  // the others count once they are judged
  space.offloads.resize(tried_at_once(space.offloads));
  return space;
}

}  // namespace

/// Searches a part of a large space for a layout that fits: a search that is ended early has an
/// answer then. One that is not ended does not look at it.
void BestFirst::search_early() {
  const bool may_end = options_.most_seconds || options_.asked_to_end;
  if (!may_end || options_.simulates_all || space_.degrees.size() < 4 * most_early) return;
  const LayoutSpace space = early_space(space_);
  PlannerOptions options = options_;
  options.best = options.drawn = 1;
  options.front = false;
  options.most_seconds = 0;
  options.on_progress = {};
  BestFirst first(base_, space, options);
  first.start();
  first.search(Aim::best);
  early_ = std::move(first.plan_.fitting);
  found_elsewhere_ = !early_.empty();
}

/// Adds what was found early to an unfinished search, in ties behind all that it found itself.
void BestFirst::keep_early() {
  for (JudgedLayout& one : early_) {
    one.number |= std::uint64_t{1} << 63U;
    const auto is_known = [&](const JudgedLayout& other) { return other.choice == one.choice; };
    if (std::ranges::none_of(plan_.fitting, is_known)) keep(std::move(one));
  }
  early_.clear();
}

}  // namespace penstock
