#pragma once

#include <optional>
#include <vector>

#include "sim/costs/priced_plan.hpp"
#include "sim/engines/standstill.hpp"

namespace penstock {

class Dispatcher;

/// Those who do the cells of a run, where only they know how long a cell takes: the ranks of a real
/// run in logical time. A cell is an action, or both parts of a fused pair.
class Workers {
 public:
  virtual ~Workers() = default;
  /// A cell starts, named by its first task. Cells that start at one moment run side by side.
  virtual void start(TaskId first, Time now) = 0;
  /// How long a started cell took, at full speed; waits until it is known. Nothing ends the run.
  virtual std::optional<Time> took(TaskId first) = 0;
};

/// The event engine for conditions under which what a rank can do depends on what goes on
/// elsewhere at that moment: it goes from one moment at which anything happens to the next. With a
/// dispatcher, it decides what ranks do next, and `ran` gets all their tasks as they started.
RunOutcome run_stepwise(const PricedPlan& priced, Timeline reused = {},
                        Dispatcher* dispatcher = nullptr, std::vector<TaskId>* ran = nullptr);

/// The same where cells take as long as their workers say; transfers take their costs.
RunOutcome run_stepwise(const PricedPlan& priced, Workers& workers);

}  // namespace penstock
