#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "schedules/search/order_problem.hpp"
#include "schedules/search/partial_order.hpp"

namespace penstock {

/// Beginnings of orders that branch and bound has been at, by what they have run. One of them makes
/// another that runs the same needless if everything to come can start at least as early after it.
///
/// That excludes no way to the optimum: of the shortest orders, take those with the smallest sum of
/// all starts, and of these the one that the search comes upon first. Were its beginning needless,
/// the earlier one, continued in the same way, would be an order of this kind that comes first.
class SeenOrders {
 public:
  explicit SeenOrders(const OrderProblem& problem) : problem_(problem) {}

  /// Whether the beginning is needless; keeps it otherwise.
  bool covers(const PartialOrder& order);

 private:
  void describe(const PartialOrder& order);

  const OrderProblem& problem_;
  std::unordered_map<std::string, std::vector<std::vector<SearchTime>>> seen_;
  std::size_t count_ = 0;
  std::string key_;
  std::vector<SearchTime> times_;  // the smaller, the better
};

}  // namespace penstock
