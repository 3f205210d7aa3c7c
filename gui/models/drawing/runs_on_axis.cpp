#include "gui/models/drawing/runs_on_axis.hpp"

#include <utility>

#include "gui/models/run/run_pair.hpp"

namespace penstock {
namespace {

/// Pairs each run with A.
std::vector<RunPair> pairs_of(const ViewedRunPtr& first, const ShownWith& with) {
  std::vector<RunPair> pairs;
  ViewedRunPtr baseline = first;
  std::optional<TaskId> anchor = with.anchor;
  for (const ViewedRunPtr& run : with.others) {
    if (!with.frozen || !pairs.empty()) {
      pairs.push_back(pair_of(baseline, run, with.alignment, anchor));
      continue;
    }
    pairs.push_back(pair_against(first, run, with.alignment, anchor));
    baseline = pairs.front().second;
    if (anchor) anchor = same_ops(first->plan, {*anchor}, baseline->plan).front();
  }
  return pairs;
}

}  // namespace

RunsOnAxis on_one_axis(PaintedRunPtr first, const ShownWith& with) {
  if (with.memory && first->memory == nullptr) first = with_memory(*first);
  const Plan& plan = first->run->plan;
  if (with.links) first = with_links(*first, plan);
  RunsOnAxis all;
  all.pairs = pairs_of(first->run, with);
  for (std::size_t i = 0; i < all.pairs.size(); ++i) {
    const RunPair& pair = all.pairs[i];
    PaintedRunPtr other = painted(pair.second, first->by);
    if (!with.frozen || i > 0) other = with_differences(*other, pair.differences);
    if (with.memory) other = with_memory(*other);
    if (with.links) other = with_links(*other, plan);
    all.others.push_back(std::move(other));
  }
  const bool is_held = with.frozen && !all.pairs.empty();
  if (is_held || !first->differences.empty()) {
    first =
        with_differences(*first, is_held ? all.pairs.front().differences : std::vector<double>());
  }
  all.first = std::move(first);
  return all;
}

}  // namespace penstock
