#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "experiments/run/layout/layout.hpp"
#include "sim/timeline/timeline_file.hpp"
#include "validate/comparison/compare.hpp"

namespace penstock {

/// What a step of a run trains, on how many devices, and how fast.
struct StepWork {
  std::uint64_t devices = 0;
  // Of documents, which are drawn, these are not known from the layout.
  std::optional<double> global_batch, tokens, samples_per_s, tokens_per_s;
};
StepWork step_work_of(const Layout& layout, const Recording& recording);

/// A run to compare, and its file.
struct ComparedRun {
  std::string source;
  Recording recording;
  std::optional<StepWork> work = {};  // of a scenario
};

/// Notes for the reader: how the plans and the work of a step differ, what is left out.
std::vector<std::string> comparison_notes(const ComparedRun& a, const ComparedRun& b,
                                          const Comparison& comparison);

/// The unit that the times of a measured run are rounded to, as its environment says under
/// `resolution_key`; 0 for a simulated run.
Time resolution_of(const Timeline& timeline);

/// Key of the environment of a timeline: the scale of the times that `validate` ran.
constexpr const char* time_scale_key = "time_scale";
/// Divides the times of a run by its scale: they are then those of its scenario.
void undo_time_scale(Timeline& timeline);

/// A difference as a share of the first run's makespan; 0 where that is 0.
double share_of_makespan(const Comparison& comparison, Time difference);

/// Summary, first difference and largest differences.
std::string comparison_text(const ComparedRun& a, const ComparedRun& b,
                            const Comparison& comparison);
/// Everything as JSON, one op per line, so that a million ops need no tree in memory. `more`: an
/// object with further members.
std::string comparison_json(const ComparedRun& a, const ComparedRun& b,
                            const Comparison& comparison,
                            const nlohmann::ordered_json* more = nullptr);

/// A share with its sign: "+1.5 %".
std::string signed_percent(double share);

}  // namespace penstock
