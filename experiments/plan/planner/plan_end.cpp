#include <algorithm>
#include <ctime>
#include <limits>
#include <thread>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "experiments/input/long_work/parallel.hpp"
#include "experiments/plan/planner/best_first.hpp"
#include "experiments/plan/planner/plan_report.hpp"

namespace penstock {

/// A plan has one layout at least, if any fits. The time is that of the processor, so that other
/// programs do not change what is found.
bool BestFirst::has_time() const {
  if (options_.asked_to_end && options_.asked_to_end()) return false;
  if (!found_elsewhere_ && fitting_.at(1) == std::numeric_limits<double>::infinity()) return true;
  if (!options_.most_seconds) return true;
  const double seconds = static_cast<double>(std::clock() - begin_) / CLOCKS_PER_SEC;
  const std::size_t cores = std::max(1U, std::thread::hardware_concurrency());
  return seconds < *options_.most_seconds * static_cast<double>(std::min(cores, options_.jobs));
}

/// Tries others of some layouts, unless the user has ended the search.
void BestFirst::refine(const std::vector<JudgedLayout>& layouts, const OthersOf& others_of) {
  if (options_.asked_to_end && options_.asked_to_end()) return;
  std::vector<JudgedLayout> tried;
  for (const JudgedLayout& layout : layouts) {
    for (LayoutChoice& other : others_of(layout.choice)) {
      tried.push_back(layout);
      tried.back().choice = std::move(other);
      ++tried.back().number;
    }
  }
  in_parallel(
      tried.size(), [&](std::size_t i) { tried[i].trial = trial_in_room(tried[i].choice); }, {},
      options_.jobs);
  for (JudgedLayout& one : tried) {
    ++plan_.legal;
    one.bound_us = one.least_bytes = 0;
    if (one.trial.refusal.empty()) {
      keep(std::move(one));
    } else {
      add_excluded(one.trial.refusal, 1, plan_.refused);
    }
  }
  name_once(plan_.fitting);
}

/// The best of each family that will be listed.
std::vector<JudgedLayout> BestFirst::listed() const {
  std::vector<JudgedLayout> best;
  for (const ListedFamily& row : listed_families(plan_.fitting, wanted())) {
    best.push_back(*row.best);
  }
  return best;
}

/// Cuts that follow the order are searched by simulation, so they are tried last.
void BestFirst::refine_cuts() {
  name_once(plan_.fitting);
  refine(listed(), [this](const LayoutChoice& layout) {
    std::vector<LayoutChoice> others;
    if (layout.pipeline == 1) return others;
    for (const std::string& cut : space_.refinements) {
      others.push_back(layout);
      others.back().partition = cut;
    }
    return others;
  });
}

/// Bounds know nothing of a module that is not cut with the others: it is tried on the best.
void BestFirst::place_on_ranks() {
  std::vector<JudgedLayout> best = listed();
  const auto takes_module = [this](const JudgedLayout& one) {
    return !module_choices(space_, one.choice).empty();
  };
  // Where no listed one takes a module, the best that does.
  if (std::ranges::none_of(best, takes_module)) {
    const auto first = std::ranges::find_if(plan_.fitting, takes_module);
    if (first != plan_.fitting.end()) best.push_back(*first);
  }
  refine(best, [this](const LayoutChoice& layout) {
    std::vector<LayoutChoice> others;
    for (const ModuleChoice& module : module_choices(space_, layout)) {
      others.push_back(layout);
      others.back().module = module;
    }
    return others;
  });
}

/// What is known of the layouts that were not simulated.
void BestFirst::end_search() {
  while (!queue_.empty() && !is_wanted(queue_.top())) queue_.pop();
  if (!queue_.empty()) {
    plan_.slower_bound_us = std::min(plan_.slower_bound_us, queue_.top().bound_us);
  }
  plan_.stopped = plan_.stopped || (aim_ == Aim::best && !queue_.empty());
  plan_.whole_front = wants_front() && aim_ == Aim::front && queue_.empty();
}

/// Runs the best of some layouts with draws of documents, a few families at a time, until `kept`
/// has enough families or the time is up. The first layout is run in any case.
void BestFirst::draw(const std::vector<JudgedLayout>& found, std::size_t enough,
                     const std::vector<JudgedLayout>& kept) {
  constexpr std::size_t at_a_time = 4, most_near = 2;
  const std::vector<ListedFamily> rows = listed_families(found, found.size());
  for (std::size_t begin = 0; begin < rows.size(); begin += at_a_time) {
    if (listed_families(kept, kept.size()).size() >= enough) return;
    if (begin > 0 && !has_time()) return leave_undrawn(*rows[begin].best);
    std::vector<JudgedLayout> drawn;
    for (std::size_t i = begin; i < std::min(begin + at_a_time, rows.size()); ++i) {
      drawn.push_back(*rows[i].best);
      const std::size_t near = std::min(rows[i].near.size(), most_near);
      for (std::size_t n = 0; n < near; ++n) drawn.push_back(*rows[i].near[n]);
    }
    std::vector<std::optional<Trial>> trials(drawn.size());
    const auto try_one = [&](std::size_t i) {
      if (begin + i == 0 || has_time()) trials[i] = trial_in_room(drawn[i].choice, true);
    };
    in_parallel(drawn.size(), try_one, {}, options_.jobs);
    for (std::size_t i = 0; i < drawn.size(); ++i) {
      if (trials[i]) {
        keep_drawn(std::move(drawn[i]), *trials[i]);
      } else {
        leave_undrawn(drawn[i]);
      }
    }
    report({.simulated = plan_.simulated});
  }
}

void BestFirst::keep_drawn(JudgedLayout one, const Trial& drawn) {
  --plan_.simulated;                   // counted when it was found
  one.bound_us = one.least_bytes = 0;  // those of full microbatches
  one.trial = drawn;
  if (drawn.refusal.empty()) return keep(std::move(one));
  plan_.draws_refused = drawn.refusal;
  add_excluded(drawn.refusal, 1, plan_.refused);
}

/// Leaves out a layout whose turn came after the time was up: the fastest of these is known with
/// full microbatches.
void BestFirst::leave_undrawn(const JudgedLayout& one) {
  plan_.stopped = true;
  plan_.slower_bound_us = std::min(plan_.slower_bound_us, to_us(one.trial.makespan));
}

/// Compares the best families, and of each a few as good, over draws of documents; the others are
/// left out.
void BestFirst::draw_documents() {
  if (!base_.scenario.batch || plan_.best() == nullptr) return;
  name_once(plan_.tight);
  plan_.fastest_full = plan_.best()->trial.makespan;
  const std::vector<JudgedLayout> fitting = std::exchange(plan_.fitting, {});
  const std::vector<JudgedLayout> tight = std::exchange(plan_.tight, {});
  draw(fitting, wanted(), plan_.fitting);
  if (plan_.fitting.empty() || has_time()) draw(tight, most_tight, plan_.tight);
}

/// Leaves the first name of layouts of a family that are equal.
void BestFirst::name_once(std::vector<JudgedLayout>& layouts) {
  std::ranges::stable_sort(layouts, is_better);
  std::unordered_multimap<std::uint64_t, const JudgedLayout*> known;
  std::vector<JudgedLayout> different;
  different.reserve(layouts.size());
  for (JudgedLayout& one : layouts) {
    const auto [first, last] = known.equal_range(one.trial.timeline_hash);
    if (std::any_of(first, last, [&](const auto& other) {
          return are_equal(*other.second, one) &&
                 family_of(other.second->choice) == family_of(one.choice);
        })) {
      ++plan_.repeated;
      continue;
    }
    different.push_back(std::move(one));
    known.emplace(different.back().trial.timeline_hash, &different.back());
  }
  layouts = std::move(different);
}

/// Whether a layout fits and leaves the memory free that is asked for.
bool BestFirst::has_headroom(const Trial& trial) const {
  return trial.fits() && leaves_room(static_cast<double>(trial.peak_bytes));
}

void BestFirst::finish() {
  name_once(plan_.fitting);
  name_once(plan_.tight);
  std::ranges::stable_sort(plan_.too_large, [](const JudgedLayout& a, const JudgedLayout& b) {
    return std::tie(a.trial.peak_bytes, a.number) < std::tie(b.trial.peak_bytes, b.number);
  });
  std::ranges::stable_sort(
      plan_.refused, [](const Exclusion& a, const Exclusion& b) { return a.layouts > b.layouts; });
  std::uint64_t others = plan_.without_memory + plan_.simulated;
  for (const Exclusion& one : plan_.refused) others += one.layouts;
  plan_.slower = plan_.legal > others ? plan_.legal - others : 0;
}

}  // namespace penstock
