#pragma once

#include <cstdint>
#include <ctime>
#include <memory>
#include <mutex>
#include <queue>
#include <string>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "experiments/plan/planner/bounds/frames.hpp"
#include "experiments/plan/planner/bounds/holdings.hpp"
#include "experiments/plan/planner/bounds/stage_prices.hpp"
#include "experiments/plan/planner/planner.hpp"

namespace penstock {

/// Judges the layouts of a space in the order of their bounds.
class BestFirst {
 public:
  /// All must outlive it.
  BestFirst(const PlanBase& base, const LayoutSpace& space, const PlannerOptions& options);

  LayoutPlan run();

 private:
  /// Prices of a frame by link codec and ZeRO level, made when its first order asks.
  struct FramePrices {
    struct One {
      std::uint8_t link = 0;
      std::uint32_t zero = 0;
      std::shared_ptr<const StagePrices> prices;
    };
    std::once_flag once;
    std::vector<One> all;
    std::string refusal;
  };
  /// What an item has: all orders of a frame, one order of it at all ZeRO levels, or one layout.
  enum class Holds : std::uint8_t { frame, order, layout };
  /// Work to do.
  struct Item {
    double bound_us = 0;
    std::uint64_t number = 0;  // in the order of the space: breaks ties
    std::uint32_t frame = 0;
    Holds holds = Holds::frame;
    std::uint32_t order = 0;
    std::uint32_t zero = 0;
    std::uint8_t link = 0;
    std::uint8_t stash = 0;                          // codec + 1; 0: none
    std::optional<std::uint32_t> offload = {};       // activations kept
    double least_bytes = 0;                          // of an order or a layout
    std::shared_ptr<FramePrices> of_frame = {};      // of an order
    std::shared_ptr<const StagePrices> prices = {};  // of a layout
  };
  struct Later {
    bool operator()(const Item& a, const Item& b) const {
      return std::tie(a.bound_us, a.number) > std::tie(b.bound_us, b.number);
    }
  };
  /// What an item came to.
  struct Outcome {
    std::vector<Item> items;
    std::optional<JudgedLayout> judged;
    std::uint64_t without_memory = 0;
    std::uint64_t refused = 0;
    std::string refusal;
    double least_bytes = 0;  // of those without memory
  };

  void start();
  std::vector<Item> next_items();
  double threshold() const;
  bool has_time() const;
  Outcome work(const Item& item);
  void weigh_orders(const Item& item, Outcome& outcome);
  void weigh_order(Item one, const std::vector<StagePrices>& prices, Outcome& outcome);
  void take_apart(const Item& item, Outcome& outcome);
  FramePrices::One priced(const Layout& plain, const Item& item, std::uint8_t link,
                          std::uint32_t zero, const HardwareModel& hardware) const;
  void price_levels(const Item& item, const std::vector<std::uint32_t>& levels,
                    FramePrices& prices);
  void price_nothing(const Item& item, const std::vector<std::uint32_t>& levels,
                     FramePrices& prices) const;
  void price_frame(const Item& item, FramePrices& prices);
  void add_layout(const Item& item, const FramePrices::One& one, Outcome& outcome) const;
  void judge(Item item, Outcome& outcome);
  bool waits(Item& item, const OrderHolding& holding, Outcome& outcome) const;
  OrderShape shape_of(const Item& item) const;
  void simulate(const Item& item, Outcome& outcome);
  void keep(JudgedLayout judged);
  void save_memory(const Item& item, std::vector<Item>& items) const;
  LayoutChoice choice_of(const Item& item) const;
  void take(const Item& item, Outcome outcome);
  void refuse(const std::string& why, std::uint64_t layouts);
  std::uint64_t layouts_in(const LayoutFrame& frame) const;
  std::uint64_t layouts_in(const LayoutFrame& frame, std::uint32_t order) const;
  bool is_small(const LayoutFrame& frame, const OrderChoice& order) const;
  void finish();
  bool may_fit(double bytes) const;
  bool may_fit(const LayoutFrame& frame, std::uint32_t zero) const;
  bool encodes() const;
  std::uint32_t kept_of(const Item& item) const;

  const PlanBase& base_;
  const LayoutSpace& space_;
  const PlannerOptions& options_;
  LayoutFrames frames_;
  std::vector<LayoutFrame> all_;
  Holdings holdings_;
  std::priority_queue<Item, std::vector<Item>, Later> queue_;
  std::clock_t begin_ = std::clock();
  std::vector<double> best_us_;  // of different layouts that fit, ascending
  std::unordered_multimap<std::uint64_t, std::size_t> known_;  // layouts that fit or may fit
  LayoutPlan plan_;
};

}  // namespace penstock
