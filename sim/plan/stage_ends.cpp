#include "sim/plan/stage_ends.hpp"

namespace penstock {

std::optional<Stage> source_of(const Placement& placement, const Action& action) {
  if (action.pass == Pass::forward) return placement.before(action.stage);
  if (gives_gradient(action.pass)) return placement.after(action.stage);
  return std::nullopt;
}

std::optional<Stage> reader_of(const Placement& placement, const Action& action) {
  if (action.pass == Pass::forward) return placement.after(action.stage);
  if (gives_gradient(action.pass)) return placement.before(action.stage);
  return std::nullopt;
}

std::vector<HandoverEnds> find_stage_ends(const Placement& placement, std::size_t columns) {
  std::vector<HandoverEnds> ends;
  for (Stage stage : placement.stages()) {
    for (const bool gradient : {false, true}) {
      const Pass pass = gradient ? Pass::backward : Pass::forward;
      const Action action(pass, stage, Microbatch{0});
      const auto row = [&](Stage of) {
        return (index(of) + std::size_t{gradient ? placement.stage_count() : 0}) * columns;
      };
      HandoverEnds& found = ends.emplace_back();
      if (const auto from = source_of(placement, action)) found.reads = row(*from);
      const auto to = reader_of(placement, action);
      if (!to) continue;
      found.puts_out = row(stage);
      found.reader = *to;
      found.one_way = placement.replicas(stage) == 1 && placement.replicas(*to) == 1;
      found.target = placement.rank_of(*to);
    }
  }
  return ends;
}

bool may_send(const Placement& placement, Stage stage, Pass pass) {
  if (moves_stash(pass)) return true;
  const auto to = reader_of(placement, {pass, stage, Microbatch{0}});
  if (!to) return false;
  const bool alone = placement.replicas(stage) == 1 && placement.replicas(*to) == 1;
  return !alone || placement.rank_of(stage) != placement.rank_of(*to);
}

}  // namespace penstock
