#include "gui/models/drawing/runs_on_axis.hpp"

#include <utility>

namespace penstock {

RunsOnAxis on_one_axis(PaintedRunPtr first, const ShownWith& with) {
  if (with.memory && first->memory == nullptr) first = with_memory(*first);
  const Plan& plan = first->run->plan;
  if (with.links) first = with_links(*first, plan);
  RunsOnAxis all;
  for (const ViewedRunPtr& run : with.others) {
    all.pairs.push_back(pair_of(first->run, run, with.alignment, with.anchor));
    const RunPair& pair = all.pairs.back();
    PaintedRunPtr other = with_differences(*painted(pair.second, first->by), pair.differences);
    if (with.memory) other = with_memory(*other);
    if (with.links) other = with_links(*other, plan);
    all.others.push_back(std::move(other));
  }
  all.first = std::move(first);
  return all;
}

}  // namespace penstock
