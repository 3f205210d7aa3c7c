#include "sim/report/memory_kinds.hpp"

#include "sim/report/held_memory.hpp"

namespace penstock {

std::vector<BytesByKind> memory_kinds(const Plan& plan, const Costs& costs,
                                      const Timeline& timeline) {
  struct Kinds {
    std::vector<BytesByKind> all;
    Time last{};
  };
  std::vector<Kinds> ranks(plan.ranks);
  for_each_holding(plan, costs, timeline, [&](std::uint32_t rank, const Holding& holding) {
    Kinds& kinds = ranks[rank];
    if (holding.task == no_task) kinds = {};
    const bool same_moment = !kinds.all.empty() && kinds.last == holding.time;
    if (!same_moment) kinds.all.emplace_back();
    kinds.all.back() = holding.by_kind;
    kinds.last = holding.time;
  });
  std::vector<BytesByKind> all;
  for (const Kinds& kinds : ranks) all.insert(all.end(), kinds.all.begin(), kinds.all.end());
  return all;
}

}  // namespace penstock
