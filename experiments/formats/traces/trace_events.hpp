#pragma once

#include <array>
#include <cstdint>
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

/// What a trace shows of a timeline, whatever the format.
struct TraceEvents {
  std::vector<TraceEvent> events;  // by time; of one moment, slices first, the longer ones before
  std::vector<std::array<std::uint32_t, slice_kinds>> lanes;  // by rank: how many of each kind
};

/// Collects the events of a timeline. Slices of one lane never overlap: what runs at the same time
/// has lanes of its own, the first one that is free. Each tensor that crosses ranks has an arrow.
/// Transfers that take no time have only that, and U, E and L that take none have nothing.
///
/// Times are whole nanoseconds, each begin and end rounded once. Viewers count in nanoseconds and
/// would round a begin and a length on their own, which makes slices overlap that only touch.
TraceEvents trace_events(const Plan& plan, const Timeline& timeline);

}  // namespace penstock
