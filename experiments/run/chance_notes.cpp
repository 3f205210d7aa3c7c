#include "experiments/run/chance_notes.hpp"

#include <fmt/format.h>

#include <cstdint>
#include <set>
#include <utility>

#include "sim/base/numbers.hpp"
#include "sim/costs/chance.hpp"

namespace penstock {

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
  for (std::size_t i = 0; i < chance.stragglers.size(); ++i) {
    const std::uint32_t from = index(chance.stragglers[i].from);
    if (from < layout.microbatches) continue;
    notes.push_back(fmt::format(
        "/chance/stragglers/{} has no effect: it starts at microbatch {}, the last one is {}", i,
        from, layout.microbatches - 1));
  }
  return notes;
}

}  // namespace penstock
