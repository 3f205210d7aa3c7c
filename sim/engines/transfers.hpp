#pragma once

#include <cstdint>
#include <deque>
#include <utility>
#include <vector>

#include "sim/base/fifo.hpp"
#include "sim/costs/costs.hpp"
#include "sim/costs/priced_plan.hpp"
#include "sim/engines/event_queue.hpp"
#include "sim/engines/fair_share.hpp"
#include "sim/plan/plan.hpp"
#include "sim/timeline/timeline.hpp"

namespace penstock {

/// Links of the plan that serve their transfers in plan order under all conditions: no other link
/// shares their route, and their transfers become ready in that order.
std::vector<bool> private_links(const Plan& plan, const Network& network);

/// Puts transfers that are ready at one moment in the order in which they get in line.
class ArrivalOrder {
 public:
  explicit ArrivalOrder(const Plan& plan) : plan_(plan) {}

  /// By the parts of a cell as listed, those of the tail behind others, then the lower stage first,
  /// then the lower ranks. What a rank makes in several cells, which take no time then, keeps its
  /// order.
  void sort(std::vector<TaskId>& ready);

 private:
  struct Arrival {
    std::uint32_t made_on;  // a rank; of a transfer that waits for several tasks, its own link
    TaskId maker;           // the action that made it; of such a transfer, itself
    TaskId cell;
    TaskId transfer;
    std::uint64_t place;  // among all: by cells before, part of the cell, and class
  };

  void order_classes();
  Arrival arrival_of(TaskId transfer) const;
  Arrival early_reduction(TaskId transfer, std::uint64_t place) const;
  void count_cells();

  const Plan& plan_;
  std::vector<std::uint32_t> place_of_class_;  // filled in when first needed
  std::vector<Arrival> arrivals_;              // of one moment; kept for its memory
};

/// The transfers of a run, from ready until they have left their links. Transfers of one link of
/// the plan go in sequence. On a shared network they share every physical link of their route
/// max-min fairly, or queue at each (fifo); a queued transfer that may not start lets later ones
/// pass.
class Transfers {
 public:
  /// When a transfer ends is known when it has left, or, where that is certain and nobody waits for
  /// it to leave, when it starts: then its arrival becomes an event and its leave none.
  enum class Ends : std::uint8_t { known_late, known_early };

  Transfers(const Plan& plan, const Costs& costs, const Conditions& conditions, Timeline& timeline,
            EventQueue& events, Ends ends);

  /// The inputs of a transfer have arrived.
  void ready(TaskId transfer) { arrived_.push_back(transfer); }
  /// The gate's result may have changed for a link.
  void reconsider(std::uint32_t link);
  /// A rank at an end of the link has started or stopped running an action.
  void set_slowed(std::uint32_t link, bool slowed);
  /// Ends the transfer that leaves, which it returns; when it arrives is known from now on. no_task
  /// where that was known early, and the link is now free for the next.
  TaskId leave(Event event);
  /// Starts what can start now, and tells the queue when transfers will have left. `gate` is asked
  /// whether a transfer may start, for all that is not known here; it does start then.
  template <class Gate>
  void settle(Time now, const Gate& gate);
  /// The same where all may start.
  void settle(Time now) {
    settle(now, [](TaskId) { return true; });
  }

  /// The transfer that waits first in line.
  TaskId first_waiting(std::uint32_t link) const;

 private:
  struct Waiting {
    TaskId transfer;
    std::uint32_t number;  // number of earlier ones
  };

  /// One link of the plan.
  struct Line {
    Fifo<Waiting> waiting;
    TaskId active = no_task;
    std::vector<std::uint32_t> route;  // each physical link once
    double full_rate = 0;              // of a transfer that travels alone
    bool has_certain_ends = false;
    Time free_at{};  // then: when its last transfer has left
    bool slowed = false;
    bool to_consider = false;
    bool gives_way = false;  // fifo: the first in line may not start

    // The active transfer: remaining time at full rate as of `since`.
    double left = 0;
    Time since{};
    double speed = 0;  // share of the full rate
  };

  bool shares_fairly(const Line& line) const { return !fifo_ && !line.route.empty(); }
  std::uint32_t line_of(TaskId transfer) const;
  double limit_of(const Line& line) const;
  void queue_up();
  void queue_up(TaskId transfer);
  void consider(std::uint32_t link);
  void consider_next(const Line& line);
  void leave_lines(const Line& line, TaskId transfer);
  bool is_first(const Line& line, TaskId transfer) const;
  void sort_considered();
  void share_anew(Time now);
  template <class Gate>
  void try_start(std::uint32_t link, Time now, const Gate& gate);
  void start(std::uint32_t link, TaskId transfer, Time now);
  void start_to_certain_end(std::uint32_t link, TaskId transfer, Time left);
  void tell_when_free(std::uint32_t link) {
    events_.set({lines_[link].free_at, EventKind::leaves, link});
  }
  void set_speed(std::uint32_t link, double speed, Time now);

  const Plan& plan_;
  const Costs& costs_;
  Timeline& timeline_;
  EventQueue& events_;
  double slowdown_;
  bool fifo_;
  std::vector<Line> lines_;                  // by link of the plan
  std::vector<std::deque<TaskId>> in_line_;  // fifo: by physical link, queued or active
  FairShare share_;
  ArrivalOrder arrival_order_;
  std::vector<TaskId> arrived_;             // since the last settling
  std::uint32_t came_ = 0;                  // number queued so far
  std::vector<std::uint32_t> to_consider_;  // links where something may start
  std::vector<std::uint32_t> considered_;   // links being checked
  std::vector<std::uint32_t> to_slow_;      // links whose limit has changed
};

/// First come first served, also when a rank can only send or receive a few at a time.
template <class Gate>
void Transfers::settle(Time now, const Gate& gate) {
  queue_up();
  while (!to_consider_.empty()) {
    considered_.clear();
    std::swap(considered_, to_consider_);
    sort_considered();
    for (const std::uint32_t link : considered_) try_start(link, now, gate);
  }
  share_anew(now);
}

template <class Gate>
void Transfers::try_start(std::uint32_t link, Time now, const Gate& gate) {
  Line& line = lines_[link];
  line.to_consider = false;
  if (line.free_at > now) return tell_when_free(link);
  const TaskId transfer = line.waiting.front().transfer;
  if (!is_first(line, transfer)) return;
  if (!gate(transfer)) {
    if (!std::exchange(line.gives_way, true)) consider_next(line);
    return;
  }
  line.gives_way = false;
  line.waiting.pop();
  start(link, transfer, now);
}

}  // namespace penstock
