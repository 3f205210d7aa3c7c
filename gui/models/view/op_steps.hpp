#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gui/models/lanes/run_lanes.hpp"
#include "gui/models/run/viewed_run.hpp"
#include "sim/plan/plan.hpp"
#include "sim/report/report.hpp"
#include "sim/timeline/timeline.hpp"

namespace penstock {

/// The steps that a hand can take from an op; no_task where there is none.
struct OpSteps {
  OpSteps(const ViewedRun& of, const RunLanes& its)
      : run(of), plan(of.plan), timeline(of.timeline), lanes(its) {}
  const ViewedRun& run;
  const Plan& plan;
  const Timeline& timeline;
  const RunLanes& lanes;

  /// The next or previous op on the same rank, or of the same end of a link.
  TaskId in_lane(TaskId task, bool forward) const;
  /// What the op waited for last: an input, or what ran before it.
  TaskId cause(TaskId task) const;
  /// The first op that waited for this one last.
  TaskId effect(TaskId task) const;
  /// The same stage, pass and slice of the next or previous microbatch.
  TaskId in_microbatch(TaskId task, bool forward) const;
  /// The first op of a rank at or after a moment, or else its last.
  TaskId on_rank(std::uint32_t rank, std::int64_t time) const;
};

/// The tasks that read what a task makes, of those that come soon after it in the plan.
std::vector<TaskId> readers_of(const Plan& plan, TaskId task);
/// The place of a task on the critical path of a report, if it is on it.
std::optional<std::size_t> place_on_path(const Report& report, TaskId task);

/// An idle stretch of a rank with one cause.
struct IdlePiece {
  std::uint32_t rank;
  std::int64_t begin;
  std::int64_t end;
  IdleCause cause;
  TaskId next;  // the op behind it; no_task at the end of the run
};

/// The longest gaps of a run, as `penstock explain` has them: longest first, equal ones by rank,
/// then time. Each has the cause of its longest piece.
std::vector<IdlePiece> longest_gaps(const RunLanes& lanes, std::size_t most);

/// The idle piece of a rank at a moment.
std::optional<IdlePiece> idle_at(const RunLanes& lanes, std::uint32_t rank, std::int64_t time);
/// The gap or the piece of one that an area is, if it is one: areas of bubbles are.
std::optional<IdlePiece> idle_of(const Area& area, const RunLanes& lanes);
/// All pieces of the gap that one of them belongs to, or that is one, in order.
std::vector<IdlePiece> gap_around(const RunLanes& lanes, const IdlePiece& piece);

/// What an op is, for a person: "2B5, rank 2: 1.2 ms to 1.4 ms (200 µs), microbatch 5". Behind the
/// op stands the name of its run, " of B", where there are several.
std::string op_text(const ViewedRun& run, TaskId task, std::string_view of = {});
/// "microbatch 7, slice 1" of a run that cuts microbatches into slices, else "microbatch 7".
std::string microbatch_text(const ViewedRun& run, TaskId task);

/// A search for ops: all conditions that are given hold.
struct OpQuery {
  std::optional<std::uint32_t> stage, microbatch, rank;
  std::optional<std::uint32_t> cell;  // the number in the name of an op: of a microbatch or a slice
  std::optional<Pass> pass;
  std::optional<Time> longer_than, shorter_than;
  friend bool operator==(const OpQuery&, const OpQuery&) = default;
};

/// Reads `stage:3 kind:B mb:12 rank:0 dur>2ms dur<1s`, or the name of an op such as `3B12`. Throws
/// InputError that says what is understood.
OpQuery read_query(std::string_view text);

bool fits(const OpQuery& query, const ViewedRun& run, TaskId task);

/// All that fit, by begin; transfers without length are left out.
std::vector<TaskId> find_ops(const OpQuery& query, const ViewedRun& run);
/// The ops of a rank, however short, by begin: those that end after a moment or begin at it.
std::vector<TaskId> ops_of_rank(const ViewedRun& run, std::uint32_t rank, std::int64_t from);

}  // namespace penstock
