#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

#include "experiments/input/files/output_file.hpp"
#include "experiments/input/long_work/progress.hpp"
#include "sim/costs/costs.hpp"
#include "sim/plan/plan.hpp"
#include "sim/timeline/timeline.hpp"

namespace penstock {

/// The kind of a trace event. At one moment, slices come before the arrows bound to them.
enum class TraceKind : std::uint8_t {
  compute,      // a slice: an action of a rank
  send,         // a slice: a transfer, on the sending rank, if any
  receive,      // a slice: a transfer, on the receiving rank
  collective,   // a slice: a collective with the data replicas of a rank
  arrow_start,  // in the slice of the producer
  arrow_end,    // in the slice of the reader
  memory,       // a counter: bytes held by a rank from this moment
  activations,  // a counter: activations held by a rank from this moment
};
constexpr std::size_t slice_kinds = 4;

struct TraceEvent {
  Time at;
  Time length{};
  TraceKind kind;
  std::uint32_t rank;
  std::uint32_t lane = 0;   // of slices and arrows: the thread of the rank, by kind
  TaskId task = no_task;    // of slices and arrows; for an arrow, the transfer
  std::uint64_t value = 0;  // arrow number or counter value
  bool waits = false;       // of slices of transfers: this end is ready, and nothing moves yet
};

/// The number of threads of a rank, by kind of slice.
using LaneCounts = std::array<std::uint32_t, slice_kinds>;

/// The events of a timeline, for any trace format. Slices of one lane never overlap: concurrent
/// slices take the first free lane. Where communication is written, a slice of a transfer has its
/// wait in front of it. Each tensor that crosses ranks has an arrow, if both of its ends have a
/// slice. Zero-length transfers have only the arrow; zero-length U, E and L have nothing.
///
/// Times are whole nanoseconds, with begin and end rounded once each. Viewers would round begin and
/// duration separately, so that adjacent slices would overlap.
///
/// Events are generated for one time interval after the other, so a large run is never in memory at
/// once. The plan and the timeline must outlive this.
class TraceEvents {
 public:
  TraceEvents(const Plan& plan, const Timeline& timeline);

  const std::vector<LaneCounts>& lanes() const { return counts_; }  // by rank
  /// An upper estimate of the number of events.
  std::size_t about_events() const {
    return 2 * (plan_.tasks() + arrows_.size()) + memory_.size() + activations_.size();
  }
  /// Visits events by time; at one moment, slices first, longer ones before shorter ones. About
  /// `stretch_events` are in memory at once.
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

  bool has_slice(TaskId task) const;
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

  Time ready(TraceKind kind, TaskId task) const;
  Time begin(TaskId task) const;
  Time end(TaskId task) const;

  const Plan& plan_;
  const Timeline& timeline_;
  std::vector<LaneCounts> counts_;
  std::vector<std::array<std::uint32_t, 2>>
      lane_;  // by task: lane of its slice, and of that at its receiver
  std::vector<Arrow> arrows_;
  std::vector<Level> memory_;
  std::vector<Level> activations_;
};

/// Writes the events of a timeline as a document in Chrome's trace format; `more` are its further
/// members, ",\"key\": …". The text goes to `sink` in large pieces.
void write_trace_events(const Plan& plan, const Costs& costs, const TraceEvents& trace,
                        std::string_view more, const TextSink& sink, const OnProgress& on_progress);

}  // namespace penstock
