#include "experiments/run/run_after.hpp"

#include <tuple>

#include "experiments/run/layout/training.hpp"
#include "experiments/run/priced_layout.hpp"
#include "experiments/run/simulation.hpp"

namespace penstock {
namespace {

bool is_plain(const Layout& layout) {
  return layout.policy == nullptr && !layout.codec.encodes() && layout.codec.phases.empty();
}

auto parts_of(const Extras& extras) {
  const auto& [stages, early, except_last, microbatches] = extras.recomputing;
  const Tail& tail = extras.tail;
  return std::tie(stages, early, except_last, microbatches, tail.reduces, tail.early, tail.updates,
                  tail.gathers, tail.summing, tail.ties, tail.across_ranks, extras.holds);
}

bool lowers_alike(const Layout& one, const Layout& other) {
  if (!is_plain(one) || !is_plain(other) || one.overlap != other.overlap) return false;
  if (one.placement != other.placement || one.schedule != other.schedule) return false;
  const Extras extras = extras_of(one);
  const Extras others = extras_of(other);
  return parts_of(extras) == parts_of(others);
}

}  // namespace

std::optional<std::variant<BriefRun, Finding>> run_after(const Layout& layout, const Layout& before,
                                                         const Plan& plan) {
  if (!lowers_alike(layout, before)) return std::nullopt;
  const Simulation simulation(layout, Engine::automatic);
  return brief_run(simulation, price_lowered(plan, layout, simulation.hardware()));
}

}  // namespace penstock
