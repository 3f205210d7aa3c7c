#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <mutex>
#include <queue>
#include <string>
#include <tuple>
#include <vector>

#include "experiments/input/long_work/budget.hpp"
#include "experiments/plan/planner/bounds/frames.hpp"
#include "experiments/plan/planner/bounds/holdings.hpp"
#include "experiments/plan/planner/bounds/stage_prices.hpp"
#include "experiments/plan/planner/known_layouts.hpp"
#include "experiments/plan/planner/planner.hpp"

namespace penstock {

/// Judges the layouts of a space in the order of their bounds: first those that may be among the
/// best, then those that may be on the front.
class BestFirst {
 public:
  /// All must outlive it.
  BestFirst(const PlanBase& base, const LayoutSpace& space, const PlannerOptions& options);

  LayoutPlan run();

 private:
  /// Families that are searched among the layouts that may fit.
  static constexpr std::size_t most_tight = 3;
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
  /// What an item has: all frames of some degrees, all orders of a frame, one order of it at all
  /// ZeRO levels, or one layout.
  enum class Holds : std::uint8_t { degrees, frame, order, layout };
  /// What is searched for: the best, the front to a tenth of its memory, the whole front.
  enum class Aim : std::uint8_t { best, rough_front, front };
  /// Work to do.
  struct Item {
    double bound_us = 0;
    std::uint64_t number = 0;  // in the order of the space: breaks ties
    std::uint32_t degrees = 0;
    std::uint32_t frame = 0;  // unless it holds degrees
    Holds holds = Holds::frame;
    std::uint32_t order = 0;
    std::uint32_t zero = 0;
    std::uint8_t link = 0;
    std::uint8_t stash = 0;                          // of the space
    std::uint16_t offload = 0;                       // of the space
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
    bool done = false;  // else the time was up before its turn
    std::vector<Item> items;
    std::vector<LayoutFrame> frames;
    std::optional<LayoutFrame> frame;  // judged now
    std::optional<JudgedLayout> judged;
    std::uint64_t without_memory = 0;
    std::uint64_t refused = 0;
    std::string refusal;
    double least_bytes = 0;  // of those without memory
  };

  std::size_t wanted() const;
  void search(Aim last);
  void search_early();
  void keep_early();
  void start();
  std::vector<Item> next_items();
  std::vector<LayoutFamily> families_of(const Item& item) const;
  bool leaves_room(double bytes) const;
  bool has_headroom(const Trial& trial) const;
  bool may_be_among_best(const Item& item) const;
  bool may_be_on_front(const Item& item, Aim aim) const;
  bool is_wanted(const Item& item) const;
  bool has_time() const;
  void report(PlanProgress progress) const;
  Outcome work(const Item& item);
  void judge_frames(const Item& item, Outcome& outcome);
  void weigh_orders(const Item& item, Outcome& outcome);
  void weigh_order(Item one, const std::vector<LayoutFrames::LayerPrices>& stacks,
                   Outcome& outcome);
  void take_apart(const Item& item, Outcome& outcome);
  FramePrices::One priced(Layout& layout, const CutTimes& cut, const Item& item, std::uint8_t link,
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
  std::unique_ptr<SimulationMemory::Use> room_for(const LayoutChoice& choice, bool draws = false);
  Trial trial_of(const LayoutChoice& choice, bool draws = false) const;
  Trial trial_in_room(const LayoutChoice& choice, bool draws = false);
  void simulate(const Item& item, Outcome& outcome);
  void keep(JudgedLayout judged);
  using OthersOf = std::function<std::vector<LayoutChoice>(const LayoutChoice&)>;
  void refine(const std::vector<JudgedLayout>& layouts, const OthersOf& others_of);
  std::vector<JudgedLayout> listed() const;
  void refine_cuts();
  void place_on_ranks();
  void place_on_own_devices();
  bool place_on_own_devices(std::uint32_t devices);
  void draw_documents();
  void draw(const std::vector<JudgedLayout>& found, std::size_t enough,
            const std::vector<JudgedLayout>& kept);
  void keep_drawn(JudgedLayout one, const Trial& drawn);
  void leave_undrawn(const JudgedLayout& one);
  void end_search();
  bool wants_front() const;
  void store(const Item& like, std::size_t stash, std::size_t offload,
             std::vector<Item>& items) const;
  void save_memory(const Item& item, std::vector<Item>& items) const;
  LayoutChoice choice_of(const Item& item) const;
  void take(const Item& item, Outcome outcome);
  void take_frames(const Item& item, std::vector<LayoutFrame> frames);
  void queue_frame(Item item);
  std::uint64_t layouts_in(const LayoutFrame& frame) const;
  std::uint64_t layouts_in(const LayoutFrame& frame, std::uint32_t order) const;
  bool is_small(const LayoutFrame& frame, const OrderChoice& order) const;
  void name_once(std::vector<JudgedLayout>& layouts);
  void finish();
  bool may_fit(double bytes) const;
  bool may_fit(const LayoutFrame& frame, std::uint32_t zero) const;
  bool encodes() const;
  bool saves_memory(const Item& item) const;
  /// How layouts may keep activations.
  std::uint64_t storages() const { return space_.stashes.size() * space_.offloads.size(); }
  std::uint32_t kept_of(const Item& item) const;

  const PlanBase& base_;
  const LayoutSpace& space_;
  const PlannerOptions& options_;
  LayoutFrames frames_;
  std::vector<LayoutFrame> all_;  // of the degrees that had their turn
  Holdings holdings_;
  SimulationMemory room_{budget().memory_bytes};
  std::priority_queue<Item, std::vector<Item>, Later> queue_;
  std::priority_queue<Item, std::vector<Item>, Later> later_;  // for the next aims
  Aim aim_ = Aim::best;
  std::clock_t begin_ = std::clock();
  double most_us_ = std::numeric_limits<double>::infinity();  // of what is searched
  bool found_elsewhere_ = false;     // a layout that fits, so that time is limited
  std::vector<JudgedLayout> early_;  // of a part of the space; fit
  FamilyTimes fitting_;
  FamilyTimes tight_;
  PlanFront front_;  // of layouts that fit
  LayoutPlan plan_;
};

}  // namespace penstock
