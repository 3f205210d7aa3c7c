#pragma once

#include <cstdint>
#include <vector>

#include "sim/base/time.hpp"
#include "sim/costs/costs.hpp"
#include "sim/plan/plan.hpp"
#include "sim/timeline/timeline.hpp"

namespace penstock {

/// The most bytes that each rank holds at once: those of `memory_peaks`, without their kinds and
/// moments.
std::vector<std::uint64_t> peak_bytes(const Plan& plan, const Costs& costs,
                                      const Timeline& timeline);

/// The same of one plan under many costs, several times as fast.
class PeakBytes {
 public:
  explicit PeakBytes(const Plan& plan);

  /// By rank. `plan` is that of the constructor.
  std::vector<std::uint64_t> of(const Plan& plan, const Costs& costs, const Timeline& timeline);

 private:
  /// A buffer taken or given back at the begin or end of a task; `place` orders those of one
  /// moment.
  struct Event {
    std::uint64_t place;
    TaskId task;
    std::uint32_t buffer;
    bool at_end;
    bool takes;
  };
  /// An event with its time and what it adds, modulo 2^64.
  struct TimedEvent {
    Time time;
    std::uint64_t place;
    std::uint64_t change;
  };
  struct Rank {
    std::vector<Event> own;    // of its actions, in their order
    std::vector<Event> moved;  // of transfers
  };

  void list_moved(const Rank& rank, const Costs& costs, const Timeline& timeline);
  std::uint64_t peak_of(const Rank& rank, std::uint64_t held, const Costs& costs,
                        const Timeline& timeline);

  bool follows_rows_ = true;  // no fused cells and no evictions
  std::vector<Rank> ranks_;
  std::vector<TimedEvent> moved_;  // of the rank at hand
};

}  // namespace penstock
