#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "experiments/plan/planner/bounds/stage_prices.hpp"
#include "experiments/plan/planner/bounds/step_bound.hpp"
#include "experiments/plan/planner/space/layout_choice.hpp"

namespace penstock {

/// A moment of a rank: an action of `stage` starts while the rank holds these activations.
struct Moment {
  // By stage of the rank, ascending: from F to the end of B or W, to the end of B or I, and between
  // I and W.
  std::vector<std::uint32_t> held, unread, pending;
  Stage stage{};
  bool again = false;  // the action may restore its activation
};

/// What an order makes a rank hold, whatever its times are.
struct RankHolding {
  std::vector<Moment> moments;           // those that no other one holds all of
  std::vector<std::uint64_t> evictions;  // to the host, by stage of the rank
};

struct OrderHolding {
  std::vector<RankHolding> ranks;
  OrderWalk walk;
  std::string refusal;  // why the rule does not take the sizes; empty if it does
};

/// Holdings of orders, each made once. Thread-safe.
class Holdings {
 public:
  /// `keep`: activations that are not offloaded; 0: all.
  std::shared_ptr<const OrderHolding> of(const OrderChoice& order, const Placement& placement,
                                         std::uint32_t microbatches, std::uint32_t keep);

 private:
  using Key = std::tuple<const OrderChoice*, std::uint32_t, std::uint32_t, std::uint32_t>;
  std::mutex mutex_;
  std::map<Key, std::shared_ptr<const OrderHolding>> known_;
};

/// A lower bound on the bytes of the fullest rank, with what ranks hold throughout where it is
/// least.
double least_bytes_of(const Placement& placement, const StagePrices& prices,
                      const OrderHolding& holding, std::span<const std::vector<double>> held_bytes);
/// A lower bound on the time that evicted activations take on a rank's way to its host.
double eviction_us(const Placement& placement, const StagePrices& prices,
                   const OrderHolding& holding);

}  // namespace penstock
