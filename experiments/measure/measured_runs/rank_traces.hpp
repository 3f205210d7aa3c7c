#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "experiments/measure/measured_runs/op_pattern.hpp"
#include "experiments/measure/measured_runs/rank_ops.hpp"
#include "sim/order/placement.hpp"
#include "sim/order/schedule.hpp"
#include "sim/timeline/timeline_file.hpp"

namespace penstock {

/// An order named by the user, with its placement on the traced ranks.
struct NamedOrder {
  std::string name;  // of a schedule, or of a file
  Placement placement;
  Schedule schedule;
};

/// How to read traces.
struct TraceReading {
  std::vector<std::string> files;             // one per rank
  std::vector<std::uint32_t> pipeline_ranks;  // job ranks, from the first stage on; empty: all
  std::uint32_t replicas = 1;                 // pipelines, whose ranks come one after the other
  std::vector<OpPattern> patterns;            // the first match counts
  std::optional<NamedOrder> order;
  bool by_gaps = false;  // even if annotations match
  // Gets the share of the files that has been read, from time to time; what it throws ends the
  // reading.
  std::function<void(double share)> on_progress = {};
};

/// The ops of one pipeline rank, from its trace.
struct TracedRank {
  std::string source;
  std::optional<std::uint32_t> job_rank;  // as stated in the trace, or as `pipeline_ranks` says
  std::uint64_t events = 0;
  std::string device;
  std::string backend;
  NameUse names;
  RankOps ops;  // on the common clock
};

/// Files as given, and in place of a folder what may be traces in it, by name; digits in names
/// compare as numbers, unless only some of them begin with 0. Throws InputError for a folder
/// without any.
std::vector<std::string> trace_files(const std::vector<std::string>& paths);

/// Reads the traces one at a time, so that only one is in memory, and returns them by pipeline
/// rank. If no trace states its rank, files are in the order of the job's ranks, with an entry in
/// `notes`.
/// Without `ops_too`, only reads names, of any ranks in the given order. Throws InputError with the
/// file's name in front, also for missing or duplicate ranks and for jobs of different sizes.
std::vector<TracedRank> read_rank_traces(const TraceReading& reading, bool ops_too,
                                         std::vector<std::string>& notes);

/// Traces in which no pipeline is found, as lanes: by trace, the annotations of each thread, then
/// the works of each stream, or the operators of each thread; what overlaps stands in lanes of its
/// own. The plan has a rank for each lane, and names for them and their boxes. Throws InputError
/// with the file's name in front, also if there is nothing to show.
Recording lanes_of_traces(const std::vector<std::string>& files,
                          const std::function<void(double share)>& on_progress = {});

/// "gemm_kernel" of "void gemm_kernel<float, 128>(float*)".
std::string short_kernel_name(const std::string& name);

}  // namespace penstock
