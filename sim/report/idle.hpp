#pragma once

#include <cstdint>
#include <vector>

#include "sim/plan/plan.hpp"
#include "sim/timeline/timeline.hpp"

namespace penstock {

/// Why a rank was idle. The causes of a rank add up to its idle time exactly.
struct IdleCauses {
  Time warmup{};      // before its first action
  Time drain{};       // after its last
  Time dependency{};  // the producer of the input that arrived last was not finished
  Time contention{};  // the transfer of that input was queued behind others
  Time transfer{};    // the transfer was on its way
  Time memory{};      // everything was there but memory
  Time launch{};      // everything was there, and the rank had not started yet

  Time total() const {
    return warmup + drain + dependency + contention + transfer + memory + launch;
  }
  IdleCauses& operator+=(const IdleCauses& other);
};

/// One stretch in which a rank had nothing to run.
struct IdleGap {
  Rank rank;
  Time begin;
  Time end;
  TaskId next = no_task;      // the action that ended it; none for the drain
  TaskId input = no_task;     // the input of that action which arrived last
  TaskId producer = no_task;  // the action that made that input
  IdleCauses causes{};
};

/// All gaps of all ranks, by rank, then time.
std::vector<IdleGap> idle_gaps(const Plan& plan, const Timeline& timeline);

/// What ranks were idle for, by rank: the sum over their gaps.
std::vector<IdleCauses> idle_causes(const Plan& plan, const Timeline& timeline);

}  // namespace penstock
