#pragma once

#include <cstdint>
#include <memory>
#include <queue>
#include <string>
#include <tuple>
#include <vector>

#include "experiments/planner/bounds/frames.hpp"
#include "experiments/planner/bounds/holdings.hpp"
#include "experiments/planner/bounds/stage_prices.hpp"
#include "experiments/planner/layout_plan.hpp"
#include "hardware_models/links/wiring.hpp"

namespace penstock {

/// Judges the layouts of a space in the order of their bounds.
class BestFirst {
 public:
  /// All must outlive it.
  BestFirst(const PlanBase& base, const LayoutSpace& space, const PlannerOptions& options);

  LayoutPlan run();

 private:
  /// Work to do: a frame to take apart, or a layout to simulate.
  struct Item {
    double bound_us = 0;
    std::uint64_t number = 0;  // in the order of the space: breaks ties
    std::uint32_t frame = 0;
    bool whole_frame = true;
    std::uint32_t order = 0;
    std::uint32_t zero = 0;
    std::uint8_t link = 0;
    std::uint8_t stash = 0;                          // codec + 1; 0: none
    std::optional<std::uint32_t> offload = {};       // activations kept
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
  Outcome work(const Item& item);
  void take_apart(const Item& item, Outcome& outcome);
  void add_orders(const Item& item, const std::shared_ptr<const StagePrices>& prices,
                  std::uint32_t zero, std::uint8_t link, Outcome& outcome) const;
  void judge(const Item& item, Outcome& outcome);
  bool waits(const Item& item, const OrderHolding& holding, Outcome& outcome) const;
  OrderShape shape_of(const Item& item) const;
  void simulate(const Item& item, Outcome& outcome);
  void save_memory(const Item& item, std::vector<Item>& items) const;
  LayoutChoice choice_of(const Item& item) const;
  void take(const Item& item, Outcome outcome);
  void refuse(const std::string& why, std::uint64_t layouts);
  std::uint64_t layouts_in(const LayoutFrame& frame) const;
  void finish();
  bool may_fit(double bytes) const;

  const PlanBase& base_;
  const LayoutSpace& space_;
  const PlannerOptions& options_;
  LayoutFrames frames_;
  std::vector<LayoutFrame> all_;
  Holdings holdings_;
  Clusters clusters_;
  std::priority_queue<Item, std::vector<Item>, Later> queue_;
  std::vector<double> best_us_;  // of fitting layouts, ascending; as many as are wanted
  LayoutPlan plan_;
};

}  // namespace penstock
