#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "sim/plan/plan.hpp"
#include "sim/timeline/timeline.hpp"

namespace penstock {

/// What an event of a trace shows. Of one moment, slices come before the arrows bound to them.
enum class TraceKind : std::uint8_t {
  compute,      // a slice: an action of a rank
  send,         // a slice: a transfer, on the rank that sends, if a rank does
  receive,      // the same on the rank that receives
  arrow_start,  // in the slice that made a tensor
  arrow_end,    // in the slice that reads it
  memory,       // a counter: bytes that a rank holds from then on
  activations,  // a counter: activations that a rank holds from then on
};
constexpr std::size_t slice_kinds = 3;

struct TraceEvent {
  Time at;
  Time length{};
  TraceKind kind;
  std::uint32_t rank;
  std::uint32_t lane = 0;   // of slices and arrows: on which of the rank's threads of its kind
  TaskId task = no_task;    // of slices and arrows; an arrow's is the transfer
  std::uint64_t value = 0;  // an arrow's number, a counter's value
};

/// How many threads of each kind of slice a rank has.
using LaneCounts = std::array<std::uint32_t, slice_kinds>;

/// What a trace shows of a timeline, whatever the format. Slices of one lane never overlap: what
/// runs at the same time has lanes of its own, the first free one. Each tensor that crosses ranks
/// has an arrow. Transfers that take no time have only that; U, E and L that take none have
/// nothing.
///
/// Times are whole nanoseconds, each begin and end rounded once. Viewers count in nanoseconds and
/// would round a begin and a length separately, so that slices that only touch would overlap.
///
/// Events are made for one stretch of time after the other: all of a large run are never in memory
/// at once. The plan and the timeline must outlive this.
class TraceEvents {
 public:
  TraceEvents(const Plan& plan, const Timeline& timeline);

  const std::vector<LaneCounts>& lanes() const { return counts_; }  // by rank
  /// How many there are, or a few more.
  std::size_t about_events() const {
    return 2 * (plan_.tasks() + arrows_.size()) + memory_.size() + activations_.size();
  }
  /// By time; of one moment, slices first, the longer ones before. `stretch_events` is about how
  /// many are in memory at once.
  void for_each(const std::function<void(const TraceEvent&)>& show,
                std::size_t stretch_events = std::size_t{1} << 20) const;

 private:
  struct Arrow {
    TaskId from;
    TaskId to;
    TaskId transfer;
  };
  struct Level {
    std::uint32_t rank;
    Time at;
    std::uint64_t value;
  };
  struct Stretch;

  template <class Take>
  void each_slice(TaskId task, Take take) const;
  void number_lanes();
  void find_arrows();
  void find_activations();
  void find_memory();
  static void add_level(std::vector<Level>& levels, const Level& level);
  static void drop_repeated(std::vector<Level>& levels);

  std::vector<Time> stretch_ends(std::size_t stretch_events) const;
  void add_slices(Stretch& stretch) const;
  void add_arrows(Stretch& stretch) const;
  static void add_levels(const std::vector<Level>& levels, TraceKind kind, Stretch& stretch);

  Time begin(TaskId task) const;
  Time end(TaskId task) const;

  const Plan& plan_;
  const Timeline& timeline_;
  std::vector<LaneCounts> counts_;
  std::vector<std::array<std::uint32_t, 2>>
      lane_;  // by task: where it computes or is sent; is received
  std::vector<Arrow> arrows_;
  std::vector<Level> memory_;
  std::vector<Level> activations_;
};

}  // namespace penstock
