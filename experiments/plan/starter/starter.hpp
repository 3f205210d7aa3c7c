#pragma once

#include <string>
#include <vector>

#include "experiments/input/long_work/progress.hpp"
#include "experiments/plan/planner/planner.hpp"
#include "experiments/plan/planner/space/training_task.hpp"

namespace penstock {

/// The layout to start from: the first of the planner.
struct Starter {
  LayoutPlan plan;
  std::string text;  // its scenario; empty if none fits

  bool found() const { return !text.empty(); }
};

/// How long every core searches for a starter. Then the best layout so far is taken.
constexpr double starter_seconds = 20;

/// Throws UsageError for an unknown machine and for a batch that no layout can divide, InputError
/// for what scenarios refuse.
Starter find_starter(const TrainingRequest& request, const OnProgress& on_progress = {});

/// Lines for the user: the layout and what was searched, or how much memory is missing.
std::vector<std::string> summary_of(const Starter& starter);

/// A complete scenario without files: four stages by numbers on ideal hardware, with a description
/// in each section.
std::string small_starter();

}  // namespace penstock
