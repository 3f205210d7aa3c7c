#include "experiments/measure/causes/causes.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
#include <utility>

#include "experiments/show/explanation/explanation.hpp"

namespace penstock {
namespace {

constexpr std::size_t most_rows = 8;                  // of which all orders are simulated
constexpr std::uint64_t most_replayed = 500'000'000;  // tasks, in all of these

/// A measured step with its model, ready to be replayed.
struct Studied {
  MeasuredStep step;
  OpModel model;
  Replay replay;

  Studied(const Plan& plan, const Timeline& timeline, const ExpectedOps* expected)
      : step(measured_step(plan, costs_of_times(plan, timeline), timeline)),
        model(op_model(step, expected)),
        replay(step, model) {}
  Studied(const Studied&) = delete;
  Studied& operator=(const Studied&) = delete;
};

Removal removal_of(const Plan& plan, const Cause& cause) {
  Removal removal = nothing_removed(plan);
  if (cause.kind != CauseKind::rank && cause.kind != CauseKind::link) {
    remove_all(name(cause.kind), removal);
    return removal;
  }
  auto& slow = cause.kind == CauseKind::rank ? removal.ranks : removal.links;
  for (const std::uint32_t one : cause.who) slow[one] = true;
  return removal;
}

bool changes_anything(const Plan& plan, const Replay& replay, const Removal& removal) {
  const Removal nothing = nothing_removed(plan);
  for (TaskId task = 0; task < plan.tasks(); ++task) {
    if (replay.length(task, removal) != replay.length(task, nothing)) return true;
  }
  return false;
}

/// What a slow rank or link costs its own ops, in picoseconds.
double own_loss(const Studied& studied, CauseKind kind, std::uint32_t number) {
  const Plan& plan = *studied.step.plan;
  const bool is_link = kind == CauseKind::link;
  const double slower = is_link ? studied.model.link[number] : studied.model.rank[number];
  const std::uint32_t resource = is_link ? plan.ranks + number : number;
  double busy = 0;
  for (TaskId task = 0; task < plan.tasks(); ++task) {
    if (plan.class_of(task).resource == resource) busy += to_us(studied.step.length(task));
  }
  return busy * (1 - 1 / slower);
}

/// Slow ranks and links, those first that lose most.
std::vector<Cause> slow_ones(const Studied& studied) {
  std::vector<std::pair<double, Cause>> all;
  const auto add = [&](CauseKind kind, const std::vector<double>& factors) {
    for (std::uint32_t i = 0; i < factors.size(); ++i) {
      if (factors[i] > 1) all.push_back({own_loss(studied, kind, i), {.kind = kind, .who = {i}}});
    }
  };
  add(CauseKind::rank, studied.model.rank);
  add(CauseKind::link, studied.model.link);
  std::ranges::stable_sort(all, std::greater{}, [](const auto& one) { return one.first; });
  std::vector<Cause> causes;
  for (auto& [loss, cause] : all) causes.push_back(std::move(cause));
  return causes;
}

/// At most `most` of them: the first as they are, those left over together by kind.
std::vector<Cause> grouped(const std::vector<Cause>& slow, std::size_t most) {
  for (std::size_t kept = std::min(slow.size(), most);; --kept) {
    std::vector<Cause> all(slow.begin(), slow.begin() + static_cast<std::ptrdiff_t>(kept));
    for (const CauseKind kind : {CauseKind::rank, CauseKind::link}) {
      Cause rest{.kind = kind};
      for (std::size_t i = kept; i < slow.size(); ++i) {
        if (slow[i].kind == kind) rest.who.push_back(slow[i].who.front());
      }
      if (!rest.who.empty()) all.push_back(std::move(rest));
    }
    if (all.size() <= most || kept == 0) return all;
  }
}

std::vector<Cause> found_causes(const Studied& studied) {
  const Plan& plan = *studied.step.plan;
  std::vector<Cause> others;
  for (const CauseKind kind : {CauseKind::gaps, CauseKind::replicas, CauseKind::microbatches,
                               CauseKind::stages, CauseKind::jitter, CauseKind::collectives}) {
    const Cause cause{.kind = kind};
    if (changes_anything(plan, studied.replay, removal_of(plan, cause))) others.push_back(cause);
  }
  std::vector<Cause> causes = grouped(slow_ones(studied), most_rows - others.size());
  std::ranges::stable_sort(causes, {}, &Cause::kind);
  causes.insert(causes.end(), others.begin(), others.end());
  return causes;
}

/// The costs of causes in their order, and what is left.
std::vector<Time> costs_in_order(const Plan& plan, const std::vector<Cause>& causes, Replay& replay,
                                 Time& left) {
  Removal removed = nothing_removed(plan);
  left = replay.step(removed);
  std::vector<Time> costs;
  for (const Cause& cause : causes) {
    removed = removed | removal_of(plan, cause);
    const Time before = std::exchange(left, replay.step(removed));
    costs.push_back(before - left);
  }
  return costs;
}

/// By set of causes, as bits: the step without them.
std::vector<Time> steps_of_sets(const Plan& plan, const std::vector<Cause>& causes,
                                Replay& replay) {
  std::vector<Time> steps;
  for (std::uint32_t set = 0; set < 1U << causes.size(); ++set) {
    Removal removed = nothing_removed(plan);
    for (std::size_t i = 0; i < causes.size(); ++i) {
      if ((set >> i & 1U) != 0) removed = removed | removal_of(plan, causes[i]);
    }
    steps.push_back(replay.step(removed));
  }
  return steps;
}

/// The mean gain over all orders in which causes may go. Rounded to picoseconds; the largest takes
/// what rounding leaves, so that they add up to the whole gain.
void share_out(const std::vector<Time>& steps, std::vector<Cause>& causes) {
  const std::size_t n = causes.size();
  std::vector<double> weight(n, 1.0 / static_cast<double>(n));  // by size of the set: k!(n-1-k)!/n!
  for (std::size_t k = 1; k < n; ++k) {
    weight[k] = weight[k - 1] * static_cast<double>(k) / static_cast<double>(n - k);
  }
  Time left = steps.front() - steps.back();
  for (std::size_t i = 0; i < n; ++i) {
    double gain = 0;
    for (std::uint32_t set = 0; set < steps.size(); ++set) {
      if ((set >> i & 1U) != 0) continue;
      const Time one = steps[set] - steps[set | 1U << i];
      gain += weight[static_cast<std::size_t>(std::popcount(set))] *
              static_cast<double>(one.picoseconds);
    }
    causes[i].shapley = Time{std::llrint(gain)};
    left -= *causes[i].shapley;
  }
  if (n == 0) return;
  *std::ranges::max_element(causes, {}, [](const Cause& one) { return one.shapley; })->shapley +=
      left;
}

/// Intervals of the costs over all iterations.
void add_intervals(const Plan& plan, const ExpectedOps* expected,
                   std::span<const Timeline> iterations, std::vector<Cause>& causes) {
  std::vector<std::vector<double>> costs(causes.size());
  for (const Timeline& iteration : iterations) {
    Studied studied(plan, iteration, expected);
    Time left{};
    const std::vector<Time> own = costs_in_order(plan, causes, studied.replay, left);
    for (std::size_t i = 0; i < own.size(); ++i) costs[i].push_back(to_us(own[i]));
  }
  for (std::size_t i = 0; i < causes.size(); ++i) {
    causes[i].interval = median_interval(std::move(costs[i]));
  }
}

/// The causes of a step, taken out in their order and each alone.
StepCauses taken_out(Studied& studied) {
  const Plan& plan = *studied.step.plan;
  StepCauses all{.measured = studied.step.makespan};
  all.causes = found_causes(studied);
  const Time replayed = studied.replay.step(nothing_removed(plan));
  all.unexplained = all.measured - replayed;
  const std::vector<Time> costs = costs_in_order(plan, all.causes, studied.replay, all.ideal);
  for (std::size_t i = 0; i < costs.size(); ++i) {
    Cause& cause = all.causes[i];
    cause.cost = costs[i];
    cause.alone = replayed - studied.replay.step(removal_of(plan, cause));
    add_proof(studied.step, studied.model, cause);
  }
  return all;
}

std::vector<std::string> notes_on(const StepCauses& causes, bool shared_out) {
  std::vector<std::string> notes;
  const std::uint32_t ranks = static_cast<std::uint32_t>(causes.model.groups.ranks.size());
  if (!causes.model.ranks_known && ranks > 1) {
    notes.emplace_back(
        "no rank has peers to be compared with, so a slow rank looks like an uneven stage: "
        "--expected RUN, with what stages should take, tells them apart");
  }
  if (causes.iterations < 2) {
    notes.emplace_back(
        "one iteration gives no intervals; several .timeline files of one plan, or the traces of "
        "several steps (penstock trace --causes), do");
  }
  const std::vector<double>& links = causes.model.measured_link;
  const bool compared = std::ranges::any_of(links, [](double ratio) { return ratio > 0; });
  if (causes.model.groups.pipelines < 3 && !links.empty()) {
    notes.emplace_back(
        compared ? "links are compared with each other, as if their tensors had equal sizes"
                 : "there are too few links to compare them with each other: --expected RUN, with "
                   "what tensors should take, tells which are slow");
  }
  if (!shared_out) {
    notes.emplace_back("the step is too large to simulate all orders of its causes");
  }
  return notes;
}

}  // namespace

std::optional<std::string> why_no_causes(const Plan& plan, const Timeline& timeline) {
  if (!plan.class_names.empty()) return "it has the lanes of a trace without a pipeline";
  if (makespan(plan, timeline) == Time{}) return "it takes no time";
  return std::nullopt;
}

StepCauses costs_of_causes(const Plan& plan, const Timeline& timeline,
                           const ExpectedOps* expected) {
  Studied studied(plan, timeline, expected);
  StepCauses all = taken_out(studied);
  all.model = std::move(studied.model);
  return all;
}

StepCauses causes_of(const Plan& plan, const Timeline& timeline, const ExpectedOps* expected,
                     std::span<const Timeline> iterations) {
  Studied studied(plan, timeline, expected);
  StepCauses all = taken_out(studied);
  const std::uint64_t replays = std::uint64_t{plan.tasks()} << all.causes.size();
  if (replays <= most_replayed) {
    share_out(steps_of_sets(plan, all.causes, studied.replay), all.causes);
  }
  if (iterations.size() > 1) add_intervals(plan, expected, iterations, all.causes);
  all.iterations = std::max<std::size_t>(iterations.size(), 1);
  all.slowdowns = slowdowns_of(studied.step, studied.model);
  all.late = first_late(studied.step, studied.model);
  all.model = std::move(studied.model);
  all.notes = notes_on(all, replays <= most_replayed);
  return all;
}

}  // namespace penstock
