#include "validate/comparison/shared_orders.hpp"

#include <map>
#include <utility>

namespace penstock {
namespace {

constexpr std::uint32_t elsewhere = UINT32_MAX;
using Place = std::pair<Rank, Rank>;

Place key_of(const Plan& plan, std::uint32_t resource) {
  const Link place = place_of(plan, resource);
  return {place.from, place.to};
}

/// Adds the ops of one run to its side of the orders; `pair_of` has the pair of each task.
void add_side(const Plan& plan, const ResourceOrders& orders,
              const std::vector<std::uint32_t>& pair_of,
              std::vector<std::uint32_t> SharedOrder::*side,
              std::map<Place, SharedOrder>& by_place) {
  for (std::uint32_t r = 0; r < plan.resources(); ++r) {
    std::vector<std::uint32_t>& order = by_place[key_of(plan, r)].*side;
    for (std::uint32_t i = orders.first[r]; i < orders.first[r + 1]; ++i) {
      const std::uint32_t pair = pair_of[orders.tasks[i]];
      if (pair != elsewhere) order.push_back(pair);
    }
  }
}

}  // namespace

std::vector<SharedOrder> shared_orders(const Plan& plan_a, const ResourceOrders& orders_a,
                                       const Plan& plan_b, const ResourceOrders& orders_b,
                                       const std::vector<TaskPair>& pairs) {
  std::vector<std::uint32_t> pair_of_a(plan_a.tasks(), elsewhere);
  std::vector<std::uint32_t> pair_of_b(plan_b.tasks(), elsewhere);
  for (std::uint32_t p = 0; p < pairs.size(); ++p) {
    const Link place_a = place_of(plan_a, plan_a.class_of(pairs[p].a).resource);
    const Link place_b = place_of(plan_b, plan_b.class_of(pairs[p].b).resource);
    if (place_a != place_b) continue;
    pair_of_a[pairs[p].a] = p;
    pair_of_b[pairs[p].b] = p;
  }
  std::map<Place, SharedOrder> by_place;
  add_side(plan_a, orders_a, pair_of_a, &SharedOrder::a, by_place);
  add_side(plan_b, orders_b, pair_of_b, &SharedOrder::b, by_place);
  std::vector<SharedOrder> orders;
  for (auto& [place, order] : by_place) {
    if (!order.a.empty()) orders.push_back(std::move(order));
  }
  return orders;
}

}  // namespace penstock
