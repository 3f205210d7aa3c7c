#include "experiments/planner/layout_plan.hpp"

namespace penstock {

bool is_better(const JudgedLayout& one, const JudgedLayout& other) {
  if (one.trial.makespan != other.trial.makespan) {
    return one.trial.makespan < other.trial.makespan;
  }
  return one.trial.peak_bytes < other.trial.peak_bytes;
}

}  // namespace penstock
