#pragma once

#include <array>
#include <charconv>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "experiments/input/files/output_file.hpp"
#include "sim/costs/costs.hpp"
#include "sim/plan/plan.hpp"
#include "sim/timeline/timeline.hpp"

namespace penstock {

/// The kind of a trace event. At one moment, slices come before the arrows bound to them.
enum class TraceKind : std::uint8_t {
  compute,      // a slice: an action of a rank
  send,         // a slice: a transfer, on the sending rank, if any
  receive,      // a slice: a transfer, on the receiving rank
  arrow_start,  // in the slice of the producer
  arrow_end,    // in the slice of the reader
  memory,       // a counter: bytes held by a rank from this moment
  activations,  // a counter: activations held by a rank from this moment
};
constexpr std::size_t slice_kinds = 3;

struct TraceEvent {
  Time at;
  Time length{};
  TraceKind kind;
  std::uint32_t rank;
  std::uint32_t lane = 0;   // of slices and arrows: the thread of the rank, by kind
  TaskId task = no_task;    // of slices and arrows; for an arrow, the transfer
  std::uint64_t value = 0;  // arrow number or counter value
};

/// The number of threads of a rank, by kind of slice.
using LaneCounts = std::array<std::uint32_t, slice_kinds>;

/// The events of a timeline, for any trace format. Slices of one lane never overlap: concurrent
/// slices take the first free lane. Each tensor that crosses ranks has an arrow. Zero-length
/// transfers have only the arrow; zero-length U, E and L have nothing.
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
      lane_;  // by task: lane of its computation or send, and of its receive
  std::vector<Arrow> arrows_;
  std::vector<Level> memory_;
  std::vector<Level> activations_;
};

/// Text that grows by pieces. A large trace is millions of short numbers and names: fmt would take
/// most of the time to write it.
class PieceText {
 public:
  template <class... Pieces>
  void add(const Pieces&... pieces) {
    (put(pieces), ...);
  }
  std::string& text() { return text_; }

 private:
  void put(std::string_view piece) { text_ += piece; }
  void put(char piece) { text_ += piece; }
  void put(Time time);
  template <std::integral Number>
  requires(!std::same_as<Number, char>) void put(Number number) {
    char digits[24];
    const auto end = std::to_chars(digits, digits + sizeof digits, number).ptr;
    text_.append(digits, end);
  }

  std::string text_;
};

/// Thread numbers, the same on every rank. The first compute thread is 0; all others are above the
/// rank numbers. Viewers put the thread whose number equals its process's on top, as the main
/// thread.
class ThreadNumbers {
 public:
  ThreadNumbers(std::uint32_t ranks, const TraceEvents& trace);
  std::uint32_t of(TraceKind kind, std::uint32_t lane) const {
    if (kind == TraceKind::compute && lane == 0) return 0;
    return first_[static_cast<std::size_t>(kind)] + lane;
  }

 private:
  std::array<std::uint32_t, slice_kinds> first_{};
};

/// Writes the events of a timeline as elements of a list in Chrome's trace format. The text goes to
/// `sink` in large pieces. All arguments must outlive this object.
class TraceWriter {
 public:
  TraceWriter(const Plan& plan, const Costs& costs, const TraceEvents& trace, const TextSink& sink);

  /// The process of a rank and its threads.
  void write_rank(std::uint32_t rank);
  void write(const TraceEvent& event);
  /// Ends the list; `more` are further members of the document, ",\"key\": …".
  void finish(std::string_view more);

 private:
  void open(std::string_view phase, std::uint32_t rank, std::uint32_t thread);
  void write_metadata(std::string_view name, std::uint32_t rank, std::uint32_t thread,
                      std::string_view argument);
  void write_lanes(std::uint32_t rank, TraceKind kind, std::string_view name);
  void write_slice(const TraceEvent& event);
  void write_arrow(const TraceEvent& event, std::string_view phase, std::string_view binding);
  void write_counter(const TraceEvent& event, std::string_view name, std::string_view unit);

  const Plan& plan_;
  const Costs& costs_;
  const TraceEvents& trace_;
  ThreadNumbers threads_;
  bool several_stages_;
  const TextSink& sink_;
  bool first_ = true;
  PieceText out_;
};

}  // namespace penstock
