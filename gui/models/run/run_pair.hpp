#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "experiments/measure/comparison/comparison.hpp"
#include "gui/models/run/pair_tables.hpp"
#include "gui/models/run/viewed_run.hpp"
#include "sim/plan/plan.hpp"

namespace penstock {

/// How two runs are aligned in time.
enum class PairAlignment : std::uint8_t {
  start,
  first_op,
  makespan,   // the second is scaled to the makespan of the first
  iteration,  // the second shows the iteration of the first's number, if both have several
};

/// The ops of a run beside the same ops of A, the baseline. Tasks are numbered alike where the
/// lists are empty.
struct AgainstA {
  std::vector<double> differences;  // by task of A: of its end, -1 earlier to 1 later than in A;
                                    // the largest is 1
  std::vector<TaskId> here;  // by task of A: the same op of this run; no_task: it lacks it
  std::vector<TaskId> in_a;  // by task of this run: the same op of A

  TaskId task_here(TaskId of_a) const { return of(here, of_a); }
  TaskId task_in_a(TaskId own) const { return of(in_a, own); }

 private:
  static TaskId of(const std::vector<TaskId>& tasks, TaskId task) {
    return tasks.empty() ? task : tasks[task];
  }
};

/// Two runs on one time axis. One is A, the baseline: differences are of the other one minus A.
struct RunPair {
  ViewedRunPtr second;  // with its times on the axis of the first
  ViewedRunPtr a, now;  // the baseline, and what is held against it
  std::shared_ptr<const AgainstA> against_a;
  std::optional<TaskId> first;  // of the first run: the first op that differs
  std::string text;             // as `penstock compare` reports
  // None where one of the runs is brief.
  std::vector<MovedOps> moved;
  std::vector<AmountGroup> changes;
  std::vector<std::vector<double>> residuals;  // by stage, then microbatch: of durations, relative;
                                               // empty if no op is in both
};

/// Matches the common ops of two runs and aligns them; the first is A. With an anchor, a task of
/// the first run, the second is moved so that this op begins at the same time in both. Throws
/// InputError if only the first run has it, if the second would begin before time 0, or if it has
/// no such iteration.
RunPair pair_of(const ViewedRunPtr& first, const ViewedRunPtr& second, PairAlignment alignment,
                std::optional<TaskId> anchor = std::nullopt);
/// The same, but the second, which is what is moved, is A.
RunPair pair_against(const ViewedRunPtr& first, const ViewedRunPtr& second, PairAlignment alignment,
                     std::optional<TaskId> anchor = std::nullopt);

/// Whether each task number is the same op in both, as when only costs have changed.
bool number_alike(const Plan& one, const Plan& other);

/// The tasks of the same ops in another plan; ops that it lacks are left out.
std::vector<TaskId> same_ops(const Plan& from, const std::vector<TaskId>& tasks, const Plan& to);

}  // namespace penstock
