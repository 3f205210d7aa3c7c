#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "experiments/measured_runs/annotations.hpp"
#include "experiments/measured_runs/op_pattern.hpp"
#include "experiments/measured_runs/rank_ops.hpp"
#include "sim/order/placement.hpp"
#include "sim/order/schedule.hpp"

namespace penstock {

/// An order that a user named, laid over the ranks of a trace.
struct NamedOrder {
  std::string name;  // of a schedule, or of a file
  Placement placement;
  Schedule schedule;
};

/// What to make of traces.
struct TraceReading {
  std::vector<std::string> files;             // one a rank
  std::vector<std::uint32_t> pipeline_ranks;  // of the job, from the first stage on; empty: all
  std::vector<OpPattern> patterns;            // the first one that fits a name counts
  std::optional<NamedOrder> order;
  bool by_gaps = false;  // even where annotations match
};

/// The trace of one rank of the pipeline, boiled down.
struct TracedRank {
  std::string source;
  std::optional<std::uint32_t> job_rank;  // as the trace has it
  std::uint64_t events = 0;
  std::string device;
  std::string backend;
  NameUse names;
  RankOps ops;  // on the common clock
};

/// Reads one trace after the other, so that one is in memory at a time, and returns them by rank of
/// the pipeline. Where no trace says its rank, the order of the files counts, which goes into
/// `notes`. With `ops_too` off, only names are looked at, of any ranks in the order given. Throws
/// InputError with the file's name in front, also for a rank that is missing or there twice, and
/// for jobs of different sizes.
std::vector<TracedRank> read_rank_traces(const TraceReading& reading, bool ops_too,
                                         std::vector<std::string>& notes);

}  // namespace penstock
