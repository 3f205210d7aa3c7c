#include <algorithm>
#include <limits>
#include <utility>

#include "experiments/plan/planner/best_first.hpp"
#include "experiments/run/layout/layout_model.hpp"
#include "experiments/run/simulation.hpp"
#include "experiments/run/stage_formats.hpp"
#include "sim/base/error.hpp"

namespace penstock {
namespace {

/// Cells of the orders that are made before their frame is priced.
constexpr std::uint64_t most_weighed_cells = 8192;

/// Slices of a microbatch share gathers and reductions of ZeRO-3 in ways that prices by cell do not
/// show.
bool shares_gathers(const OrderChoice& order, std::uint32_t zero) {
  return zero == 3 && order.slices > 1;
}

/// Leaves what a codec of all layouts does not make smaller: how small it makes the rest is known
/// once the order is.
void leave_uncoded(StagePrices& prices) {
  for (auto* times : {&prices.times, &prices.shared_times}) {
    for (StageBounds& stage : *times) {
      stage.send_forward = stage.send_backward = 0;
      stage.occupies_forward = stage.occupies_backward = 0;
    }
  }
  for (auto* list : {&prices.kept_bytes, &prices.input_bytes, &prices.pending_bytes,
                     &prices.recomputed_bytes, &prices.evict_us}) {
    std::fill(list->begin(), list->end(), 0.0);
  }
  prices.least_bytes = *std::ranges::max_element(prices.held_bytes);
}

}  // namespace

/// Layouts of one order of a frame.
std::uint64_t BestFirst::layouts_in(const LayoutFrame& frame, std::uint32_t order) const {
  const LayoutChoice& degrees = space_.degrees[frame.degrees];
  if (why_no_order(base_.task, degrees, space_.orders[order]) != nullptr) return 0;
  const auto zeros = std::ranges::count_if(space_.zeros, [&](std::uint32_t zero) {
    return takes_zero(base_.task, degrees, space_.orders[order], zero);
  });
  return static_cast<std::uint64_t>(zeros) * links_of(space_, degrees) *
         storages_of(space_, degrees, space_.orders[order]);
}

std::uint64_t BestFirst::layouts_in(const LayoutFrame& frame) const {
  std::uint64_t layouts = 0;
  for (const std::uint32_t order : frames_.groups()[frame.group].orders) {
    layouts += layouts_in(frame, order);
  }
  return layouts;
}

/// Whether an order is made quickly enough to make it before the frame is priced, and its cut is
/// known then.
bool BestFirst::is_small(const LayoutFrame& frame, const OrderChoice& order) const {
  const LayoutChoice& degrees = space_.degrees[frame.degrees];
  const std::uint64_t cells = std::uint64_t{degrees.pipeline} * order.chunks * order.slices *
                              std::uint64_t{degrees.microbatches};
  return frame.has_cut() && cells <= most_weighed_cells;
}

/// The frames of some degrees, unless these alone need more memory than there is.
void BestFirst::judge_frames(const Item& item, Outcome& outcome) {
  outcome.frames = frames_.of_degrees(item.degrees);
  if (may_fit(item.least_bytes)) return;
  std::erase_if(outcome.frames, [&](const LayoutFrame& frame) {
    if (frame.refusal == nullptr) outcome.without_memory += layouts_in(frame);
    return frame.refusal == nullptr;
  });
  outcome.least_bytes = item.least_bytes;
}

void BestFirst::take_frames(const Item& item, std::vector<LayoutFrame> frames) {
  for (std::size_t place = 0; place < frames.size(); ++place) {
    const auto number = static_cast<std::uint32_t>(all_.size());
    all_.push_back(frames[place]);
    queue_frame({.bound_us = item.bound_us,
                 .number = item.number + (std::uint64_t{place} << 24U),
                 .degrees = item.degrees,
                 .frame = number,
                 .least_bytes = item.least_bytes});
  }
}

/// A frame waits for its turn, unless it is refused.
void BestFirst::queue_frame(Item item) {
  const LayoutFrame& frame = all_[item.frame];
  if (frame.refusal != nullptr) {
    add_excluded(frame.refusal, layouts_in(frame), plan_.refused);
    return;
  }
  item.bound_us = std::max(item.bound_us, frame.bound_us);
  item.least_bytes = std::max(item.least_bytes, frame.least_bytes);
  queue_.push(std::move(item));
}

/// Each order of a frame, with a bound from its layers.
void BestFirst::weigh_orders(const Item& item, Outcome& outcome) {
  const LayoutFrame& frame = all_[item.frame];
  std::vector<LayoutFrames::LayerPrices> prices;
  const auto shared = std::make_shared<FramePrices>();
  for (const std::uint32_t number : frames_.groups()[frame.group].orders) {
    if (layouts_in(frame, number) == 0) continue;
    Item one{
        .bound_us = item.bound_us,
        .number = item.number + number * space_.zeros.size() * space_.links.size() * storages(),
        .degrees = item.degrees,
        .frame = item.frame,
        .holds = Holds::order,
        .order = number,
        .least_bytes = item.least_bytes,
        .of_frame = shared};
    if (!is_small(frame, space_.orders[number])) {
      outcome.items.push_back(std::move(one));
      continue;
    }
    if (prices.empty()) prices = frames_.layer_prices(frame);
    weigh_order(std::move(one), prices, outcome);
  }
}

/// An order is left out if it fits at no ZeRO level, whatever codecs and offloading save. Its bound
/// is that of the levels that fit.
void BestFirst::weigh_order(Item one, const std::vector<LayoutFrames::LayerPrices>& stacks,
                            Outcome& outcome) {
  const LayoutFrame& frame = all_[one.frame];
  const LayoutChoice& degrees = space_.degrees[frame.degrees];
  const Placement& placement = *frames_.placement(frame.group, degrees.pipeline);
  const auto holding =
      holdings_.of(space_.orders[one.order], placement, degrees.microbatches, kept_of(one));
  const bool saves = space_.stashes.size() > 1 || space_.offloads.size() > 1;
  const bool plain = !encodes() && !space_.stashes.front() && !space_.offloads.front();
  if (!holding->refusal.empty()) {
    outcome.items.push_back(std::move(one));
    return;
  }
  double least_us = std::numeric_limits<double>::infinity();
  double least_bytes = least_us;
  for (const LayoutFrames::LayerPrices& stack : stacks) {
    const double bytes =
        plain ? bound_rounding * least_bytes_of(placement, stack.prices, *holding, stack.held_bytes)
              : 0;
    least_bytes = std::min(least_bytes, bytes);
    if (!may_fit(bytes) && !saves) continue;
    one.zero = stack.levels.front();
    least_us =
        std::min(least_us, walked_us(holding->walk, placement, stack.prices.times, shape_of(one)));
  }
  one.least_bytes = std::max(one.least_bytes, least_bytes);
  if (!may_fit(least_bytes) && !saves) {
    outcome.without_memory += layouts_in(frame, one.order);
    outcome.least_bytes =
        outcome.least_bytes > 0 ? std::min(outcome.least_bytes, least_bytes) : least_bytes;
    return;
  }
  one.bound_us = std::max(one.bound_us, bound_rounding * least_us);
  outcome.items.push_back(std::move(one));
}

/// A layout of an order, unless its stages alone are too large.
void BestFirst::add_layout(const Item& item, const FramePrices::One& one, Outcome& outcome) const {
  const LayoutFrame& frame = all_[item.frame];
  const OrderChoice& order = space_.orders[item.order];
  const LayoutChoice& degrees = space_.degrees[frame.degrees];
  if (!takes_zero(base_.task, degrees, order, one.zero)) return;
  const bool priced = one.prices->least_bytes < std::numeric_limits<double>::infinity();
  const bool encoded = space_.stashes.back().has_value();  // some layouts at least
  if (!may_fit(one.prices->least_bytes) && (!priced || !encoded)) {
    outcome.without_memory += storages_of(space_, degrees, order);
    const double least = priced ? one.prices->least_bytes : frame.least_bytes;
    outcome.least_bytes = outcome.least_bytes > 0 ? std::min(outcome.least_bytes, least) : least;
    return;
  }
  Item layout{.bound_us = item.bound_us,
              .number = item.number + (one.zero * space_.links.size() + one.link) * storages(),
              .degrees = item.degrees,
              .frame = item.frame,
              .holds = Holds::layout,
              .order = item.order,
              .zero = one.zero,
              .link = one.link,
              .least_bytes = std::max(item.least_bytes, one.prices->least_bytes),
              .prices = one.prices};
  if (!one.prices->times.empty()) {
    const auto& times =
        shares_gathers(order, one.zero) ? one.prices->shared_times : one.prices->times;
    const double bound =
        step_bound_us(*frames_.placement(frame.group, degrees.pipeline), times, shape_of(layout));
    layout.bound_us = std::max(layout.bound_us, bound_rounding * bound);
  }
  for (std::size_t stash = 0; stash < tried_at_once(space_.stashes); ++stash) {
    for (std::size_t offload = 0; offload < tried_at_once(space_.offloads); ++offload) {
      store(layout, stash, offload, outcome.items);
    }
  }
}

/// Prices one ZeRO level and link codec of a frame.
BestFirst::FramePrices::One BestFirst::priced(Layout& layout, const CutTimes& cut, const Item& item,
                                              std::uint8_t link, std::uint32_t zero,
                                              const HardwareModel& hardware) const {
  const LayoutFrame& frame = all_[item.frame];
  layout.memory.zero = zero;
  auto prices = std::make_shared<StagePrices>(
      stage_prices(layout, *frames_.groups()[frame.group].like, cut, hardware));
  if (encodes()) leave_uncoded(*prices);
  return {link, zero, std::move(prices)};
}

/// Prices ZeRO levels of one stack with every link codec.
void BestFirst::price_levels(const Item& item, const std::vector<std::uint32_t>& levels,
                             FramePrices& prices) {
  const LayoutFrame& frame = all_[item.frame];
  const OrderGroup& group = frames_.groups()[frame.group];
  const LayoutChoice choice = frames_.choice(frame);
  Layout plain = placed_layout(base_, frames_.shaped(frame, levels.front()), group.like->splits,
                               *frames_.placement(frame.group, choice.pipeline));
  const auto hardware = hardware_of(plain);
  const CutTimes cut = frames_.cut(frame, levels.front(), plain);
  plain.tied_embedding_bytes = base_.scenario.model.tied_embedding_bytes;
  fit_model(plain);
  for (std::uint8_t link = 0; link < space_.links.size(); ++link) {
    if (space_.links[link] && choice.pipeline == 1) continue;
    Layout encoded;
    if (space_.links[link]) {
      encoded = plain;
      encoded.codec.link = *space_.links[link];
      encoded = with_codecs(std::move(encoded));
    }
    for (const std::uint32_t zero : levels) {
      prices.all.push_back(
          priced(space_.links[link] ? encoded : plain, cut, item, link, zero, *hardware));
    }
  }
}

/// Layouts without stage prices have the bounds of their frame.
void BestFirst::price_nothing(const Item& item, const std::vector<std::uint32_t>& levels,
                              FramePrices& prices) const {
  const LayoutFrame& frame = all_[item.frame];
  for (std::uint8_t link = 0; link < space_.links.size(); ++link) {
    if (space_.links[link] && space_.degrees[frame.degrees].pipeline == 1) continue;
    for (const std::uint32_t zero : levels) {
      const double bytes = may_fit(frame, zero) ? 0 : std::numeric_limits<double>::infinity();
      prices.all.push_back(
          {link, zero, std::make_shared<StagePrices>(StagePrices{.least_bytes = bytes})});
    }
  }
}

/// Prices the ZeRO levels and link codecs of a frame. Each stack has times and a cut of its own.
void BestFirst::price_frame(const Item& item, FramePrices& prices) {
  const LayoutFrame& frame = all_[item.frame];
  const bool priced = frame.has_cut();
  for (const bool sharded : {false, true}) {
    std::vector<std::uint32_t> levels, others;
    for (const std::uint32_t zero : space_.zeros) {
      const bool takes = takes_zero(base_.task, space_.degrees[frame.degrees],
                                    *frames_.groups()[frame.group].like, zero);
      if (!takes || runs_sharded(zero) != sharded) continue;
      (priced && may_fit(frame, zero) ? levels : others).push_back(zero);
    }
    if (!levels.empty()) price_levels(item, levels, prices);
    price_nothing(item, others, prices);
  }
}

/// The layouts of an order.
void BestFirst::take_apart(const Item& item, Outcome& outcome) {
  FramePrices& prices = *item.of_frame;
  std::call_once(prices.once, [&] {
    try {
      price_frame(item, prices);
    } catch (const InputError& error) {
      prices.refusal = error.what();
    } catch (const RuleError& error) {
      prices.refusal = error.what();
    }
  });
  if (!prices.refusal.empty()) {
    outcome.refused = layouts_in(all_[item.frame], item.order);
    outcome.refusal = prices.refusal;
    return;
  }
  for (const FramePrices::One& one : prices.all) add_layout(item, one, outcome);
}

}  // namespace penstock
