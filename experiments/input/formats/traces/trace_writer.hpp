#pragma once

#include <array>
#include <charconv>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "experiments/input/files/output_file.hpp"
#include "experiments/input/formats/traces/trace_events.hpp"
#include "sim/costs/costs.hpp"
#include "sim/plan/plan.hpp"

namespace penstock {

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
