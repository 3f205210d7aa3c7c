#include "experiments/run/chance_notes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "sim/base/numbers.hpp"
#include "sim/costs/chance.hpp"

namespace penstock {
namespace {

/// By rank: the highest number of a microbatch, as its actions have it.
std::vector<Microbatch> last_microbatches(const Plan& plan) {
  std::vector<Microbatch> last(plan.ranks);
  for (TaskId task = 0; task < plan.tasks(); ++task) {
    const auto resource = plan.class_of(task).resource;
    if (!plan.is_link(resource)) last[resource] = std::max(last[resource], plan.microbatch[task]);
  }
  return last;
}

}  // namespace

std::vector<std::string> chance_without_effect(const Plan& plan, const Layout& layout) {
  std::vector<std::string> notes;
  std::set<std::pair<Rank, Rank>> used;
  for (const Link& link : plan.links) used.emplace(link.from, link.to);
  const Chance& chance = layout.chance;
  for (std::size_t i = 0; i < chance.slow_links.size(); ++i) {
    const SlowLink& one = chance.slow_links[i];
    if (used.contains({one.from, one.to})) continue;
    notes.push_back(
        fmt::format("/chance/slow_links/{} has no effect: rank {} sends nothing to rank {}", i,
                    index(one.from), index(one.to)));
  }
  const std::vector<Microbatch> last = last_microbatches(plan);
  for (std::size_t i = 0; i < chance.stragglers.size(); ++i) {
    const Straggler& one = chance.stragglers[i];
    if (one.from <= last[index(one.rank)]) continue;
    notes.push_back(fmt::format(
        "/chance/stragglers/{} has no effect: it starts at microbatch {}, the last one of rank {} "
        "is {}",
        i, index(one.from), index(one.rank), index(last[index(one.rank)])));
  }
  return notes;
}

}  // namespace penstock
