#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "sim/plan/plan.hpp"
#include "sim/timeline/timeline.hpp"
#include "validate/comparison/makespan_change.hpp"
#include "validate/comparison/task_match.hpp"
#include "validate/comparison/time_use.hpp"

namespace penstock {

/// What lies on what when two runs are put on one axis.
enum class Alignment : std::uint8_t {
  start,     // their starts, whatever came first
  first_op,  // the begins of their first ops
  makespan,  // their starts, and the times of the second scaled to the makespan of the first
};

struct CompareOptions {
  Alignment alignment = Alignment::start;
  double tolerance = 0;  // of the first's makespan; what differs by no more counts as the same
};

/// Why an op is not when it was: the nearest reason, which may have others behind it.
enum class Reason : std::uint8_t {
  none,      // it is, within the tolerance
  duration,  // it began as before and took another time
  wait,      // all was there as before, and it waited another time: for host, memory or link
  input,     // an input came at another time
  before,    // what runs before it on its rank ended at another time
  order,     // of the ops that both have, another one runs before it on its rank or link
  place,     // it runs on another rank or link
};
constexpr std::size_t reason_count = 7;

/// "none", "duration", …
const char* name(Reason reason);

/// How an op of the second run differs from that of the first: second minus first.
struct OpDifference {
  TaskPair task;
  Time start{};
  Time end{};
  Time wait{};  // of its own, from when it had all it needs from others to its start
  Reason reason = Reason::none;
  TaskPair by{no_task, no_task};  // of `input` and `before`: what came last, in the run in which it
                                  // came later; of `order`: what runs before it in each

  Time duration() const { return end - start; }
  Time inherited() const { return start - wait; }
};

/// The first op in time that is not when it was. An op parts at the earlier of its two begins; an
/// action that begins as it did, at the earlier of its ends. A transfer may let go of its link at
/// another time before it has arrived at another time, so it parts when it begins.
struct Parting {
  Time at{};
  std::size_t op = 0;  // of the differences
};

/// Where a rank or link goes on with different ops, of those that are on it in both runs.
struct OrderParting {
  Time at{};                         // when the first of the two begins
  std::uint32_t resource = 0;        // of the first run
  TaskPair after{no_task, no_task};  // the last op in common; none at the start
  TaskPair next{no_task, no_task};   // what each goes on with: two ops
};

/// How far apart something is, signs left out.
struct Spread {
  Time median{};
  Time ninth_decile{};  // nine in ten are no further apart
  Time largest{};
};

/// How much of the differences ops made themselves, rather than passing on what came to them.
struct OwnDifferences {
  std::uint64_t durations = 0;  // how many took another time
  Time duration{};              // and by how much in all
  std::uint64_t waits = 0;
  Time wait{};
};

/// How one run compares with another.
struct Comparison {
  bool same_plan = false;
  TaskMatch tasks;
  std::vector<OpDifference> ops;  // of all that are shared, by task of the first
  Timeline a, b;                  // on one axis; no memory samples
  TimeUse use_a, use_b;           // likewise
  double scale = 1;               // of the times of the second
  Time tolerance{};

  std::optional<Parting> first;  // in time
  std::optional<OrderParting> first_order;
  Spread starts, ends, durations;
  std::array<std::uint64_t, reason_count> reasons{};  // how many ops differ for each
  OwnDifferences actions, transfers;
  MakespanChange makespan_change;
  std::optional<double> start_correlation;  // Kendall's tau-b

  /// No op is in one run alone, and none is elsewhere or at another time.
  bool same() const;
};

/// Compares two runs op by op over what their plans share, which may be nothing. A fraction of a
/// makespan of 0 is 0.
Comparison compare(const Plan& plan_a, const Timeline& a, const Plan& plan_b, const Timeline& b,
                   const CompareOptions& options = {});

}  // namespace penstock
