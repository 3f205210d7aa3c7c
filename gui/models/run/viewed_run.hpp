#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "experiments/input/scenario/scenario.hpp"
#include "experiments/run/chain.hpp"
#include "experiments/run/layout/layout.hpp"
#include "experiments/run/recordings.hpp"
#include "experiments/run/run.hpp"
#include "sim/costs/costs.hpp"
#include "sim/costs/priced_plan.hpp"
#include "sim/plan/plan.hpp"
#include "sim/report/report.hpp"
#include "sim/timeline/large_timeline.hpp"
#include "sim/timeline/timeline.hpp"
#include "sim/timeline/timeline_file.hpp"

namespace penstock {

/// The iterations of a recorded run that have its plan.
struct RecordedIterations {
  std::string title;
  std::vector<std::uint32_t> numbers;  // ascending
  std::vector<Timeline> timelines;
};

/// A run as the viewer shows it, simulated or measured. Never changes.
struct ViewedRun {
  std::string source;                // its file
  std::vector<std::string> files{};  // of traces: all that are one run
  std::string title;
  Plan plan;
  Timeline timeline;
  Costs costs;            // of a recorded run: the durations of its tasks, no bytes
  Conditions conditions;  // none of a recorded run
  Report report;
  std::string text;                             // the report for a person
  std::optional<std::uint64_t> capacity_bytes;  // of a rank's memory, if known
  std::optional<double> mfu;                 // if the model and the peak of its devices are known
  std::vector<JudgedMemory> memory;          // by rank; none of a recorded or brief run
  std::shared_ptr<const Scenario> scenario;  // that was simulated; none of a recorded run
  std::shared_ptr<const Layout> layout;      // as run; none of a recorded run
  // Of the data replica that is shown, where they differ; none of a recorded or brief run.
  std::shared_ptr<const ReplicaBatch> microbatches;

  std::shared_ptr<const RecordedIterations> iterations;  // of traces of several; else none
  bool brief = false;  // only times are reported, and there is no text: see `viewed_after`
  std::optional<UnfinishedRun> unfinished;  // then it has ranks, but no task

  // Of a file that is too large to be held: plan and timeline have the tasks of a part of it, from
  // that number on, which are all between two moments.
  std::shared_ptr<const LargeTimeline> file;
  std::uint64_t first_task = 0;
  Time from{}, until{};

  // Of one whose times were moved onto the axis of another: as it ran.
  std::shared_ptr<const ViewedRun> unaligned;

  Time span() const { return report.makespan; }
  const ViewedRun& as_it_ran() const { return unaligned == nullptr ? *this : *unaligned; }
};
using ViewedRunPtr = std::shared_ptr<const ViewedRun>;

/// Simulates a scenario. Throws InputError that starts with the file, also if the run does not
/// finish.
ViewedRunPtr viewed(std::shared_ptr<const Scenario> scenario);
ViewedRunPtr viewed(const Scenario& scenario);
/// The same, but a run that does not finish is shown without its tasks: its scenario may be
/// changed.
ViewedRunPtr viewed_if_finished(std::shared_ptr<const Scenario> scenario);

/// Simulates a layout that was changed after it was settled.
ViewedRunPtr viewed(Layout layout, std::shared_ptr<const Scenario> scenario);

/// Simulates a scenario while a hand moves: briefly, with what the chain has of those before it.
ViewedRunPtr viewed_after(Chain& chain, Scenario scenario);

/// A recorded run, which may be one of several iterations.
ViewedRunPtr viewed(Recording recording, std::string source,
                    std::shared_ptr<const RecordedIterations> iterations = nullptr,
                    std::vector<std::string> files = {});

/// The part of a large file between two moments, and as little more as possible.
ViewedRunPtr viewed_part(std::shared_ptr<const LargeTimeline> file, std::string source, Time from,
                         Time until);

/// Whether all that a run does between two moments, in picoseconds, is there.
bool covers(const ViewedRun& run, std::int64_t begin, std::int64_t end);

/// Another iteration of a run that has several. Throws InputError if it has none of this number.
ViewedRunPtr at_iteration(const ViewedRun& run, std::uint32_t number);

/// Into how many slices a run cuts its microbatches. A plan numbers slices: those of a microbatch
/// follow each other.
std::uint32_t slices_of(const ViewedRun& run);
/// The microbatch of an op.
std::uint32_t microbatch_of(const ViewedRun& run, TaskId task);

/// What it takes to keep a run, or the order of a layout: about as many bytes.
std::size_t bytes_of(const ViewedRun& run);
std::size_t bytes_of(const Layout& layout);

/// When a transfer has left its link: its latency occupies nothing.
Time left_link_at(const ViewedRun& run, TaskId transfer);

/// Whether a run is as a file recorded it: without bytes of transfers or their latency, which
/// then counts as time on their links.
inline bool is_recorded(const ViewedRun& run) { return run.layout == nullptr; }

/// Whether a run is the lanes of traces in which no pipeline was found: it has no step, and lanes
/// are no ranks.
inline bool is_lanes(const ViewedRun& run) { return !run.plan.class_names.empty(); }

/// The kinds of files that the viewer opens.
enum class ViewedFile { timeline, scenario, order, trace };

/// The kind of a file, by its name and its beginning; of standard input, "-", by that alone.
ViewedFile kind_of_file(const std::string& path, std::string_view beginning);

/// Opens files: all traces together are one run, one file per rank, in the place of the first of
/// them; every other file is a run of its own. A scenario is simulated; an order in PyTorch's
/// notation runs with equal stages and free links; "-" is standard input. A scenario whose run does
/// not finish is `unfinished`. Throws InputError and
/// UsageError with the texts of the command line. `on_progress` gets the share of the traces that
/// has been read, from time to time; what it throws ends the opening.
std::vector<ViewedRunPtr> open_files(const std::vector<std::string>& paths,
                                     const std::function<void(double share)>& on_progress = {});

}  // namespace penstock
