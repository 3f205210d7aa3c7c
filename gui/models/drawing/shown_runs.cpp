#include "gui/models/drawing/shown_runs.hpp"

#include <utility>

#include "gui/models/run/slack.hpp"

namespace penstock {
namespace {

/// With the colours and the further lanes that are wished, where a run lacks these.
PaintedRunPtr dressed(PaintedRunPtr run, const Plan& order, const ShownWith& with) {
  if (run->by != with.by) run = recoloured(*run, with.by);
  if (with.memory && run->memory == nullptr) run = with_memory(*run);
  if (with.links && run->links == nullptr) run = with_links(*run, order);
  return run;
}

/// Whether the same runs are held against A in the same way.
bool pairs_alike(const ShownWith& one, const ShownWith& other) {
  return one.others == other.others && one.alignment == other.alignment &&
         one.anchor == other.anchor && one.frozen == other.frozen;
}

ShownOps same_shown(const ShownOps& ops, const RunsOnAxis& from, const RunsOnAxis& to) {
  const auto plan_of = [](const RunsOnAxis& runs, std::size_t number) -> const Plan& {
    return (number == 0 ? runs.first : runs.others[number - 1])->run->plan;
  };
  if (ops.empty()) return {};
  const std::uint8_t there = ops.run <= to.others.size() ? ops.run : 0;
  return {same_ops(plan_of(from, ops.run), ops.tasks, plan_of(to, there)), there};
}

void keep_ops(const RunsOnAxis& from, const RunsOnAxis& to, KeptOps& kept) {
  kept.now_selected = {};
  if (!kept.selected.is_none()) {
    const ShownOps same = same_shown({{kept.selected.task}, kept.selected.run}, from, to);
    if (!same.empty()) kept.now_selected = {same.tasks.front(), same.run};
  }
  kept.now_bright = same_shown(kept.bright, from, to);
}

}  // namespace

ViewedRunPtr whole(const ViewedRunPtr& run) { return run->brief ? viewed(run->scenario) : run; }

ShownRuns made_of(const WishedRuns& wish, ShownRuns before) {
  ShownRuns made;
  made.with = wish.with;
  made.kept = before.kept;
  PaintedRunPtr first = before.runs.first;
  ViewedRunPtr run = wish.make ? wish.make() : first->run;
  if (wish.freezes) {
    run = whole(run);
    if (made.with.others.empty()) made.with.others.emplace_back();
    made.with.others.front() = run;
    made.with.frozen = true;
  }
  for (ViewedRunPtr& other : made.with.others) other = whole(other);
  const bool same = run == first->run;
  if (!same) first = painted_after(run, *first);
  first = dressed(first, run->plan, wish.with);
  made.paired = !same || !pairs_alike(made.with, before.with);
  if (made.paired) {
    made.runs = on_one_axis(std::move(first), made.with);
  } else {
    made.runs = {std::move(first), before.runs.others, {}};  // ops are kept from before
    for (PaintedRunPtr& other : made.runs.others) other = dressed(other, run->plan, wish.with);
  }
  if (wish.with.slack && has_slack(*run)) {
    const bool known = same && before.slack != nullptr;
    made.slack = known ? before.slack : std::make_shared<const std::vector<float>>(slack_of(*run));
  }
  keep_ops(before.runs, made.runs, made.kept);
  return made;
}

}  // namespace penstock
