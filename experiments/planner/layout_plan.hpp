#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "experiments/catalogue/catalogue.hpp"
#include "experiments/long_work/progress.hpp"
#include "experiments/planner/space/layout_space.hpp"
#include "experiments/planner/space/read_training_task.hpp"
#include "experiments/planner/trial.hpp"

namespace penstock {

struct PlannerOptions {
  SpaceOptions space;
  std::size_t best = 10;        // layouts to find
  std::size_t jobs = SIZE_MAX;  // threads at most
  bool simulates_all = false;   // bounds exclude nothing
  OnProgress on_progress;
};

/// A simulated layout.
struct JudgedLayout {
  LayoutChoice choice;
  double bound_us = 0;     // of the step time, from below
  double least_bytes = 0;  // of the fullest rank, from below
  Trial trial;
};

/// A layout that is known to need more memory than there is.
struct TooLarge {
  LayoutChoice choice;
  double least_bytes = 0;
};

/// All legal layouts of a task, judged.
struct LayoutPlan {
  TrainingTask task;
  std::optional<double> spread;  // relative standard deviation of step times, where it is known
  std::vector<JudgedLayout> fitting;  // simulated; fastest first, equal ones with less memory first
  std::vector<JudgedLayout> too_large;  // simulated, least memory first
  std::optional<TooLarge> least;        // of those excluded by their memory without simulation

  std::vector<Exclusion> excluded;   // by rules about degrees and options
  std::vector<Exclusion> refused;    // by schedule rules, models and machines
  std::string none_because;          // why no layout is legal; empty if one is
  std::uint64_t legal = 0;           // layouts that no rule about degrees and options excludes
  std::uint64_t without_memory = 0;  // of them: the weights alone, or with one activation, are more
                                     // than the memory
  std::uint64_t slower = 0;          // their bound is above the time of the last one listed
  std::uint64_t simulated = 0;
  double slower_bound_us = std::numeric_limits<double>::infinity();  // the lowest bound of those
};

/// Whether a layout is listed before another.
bool is_better(const JudgedLayout& one, const JudgedLayout& other);

}  // namespace penstock
