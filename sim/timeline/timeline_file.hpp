#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/plan/plan.hpp"
#include "sim/timeline/timeline.hpp"
#include "sim/timeline/timeline_overview.hpp"

namespace penstock {

/// The content of a `.timeline` file, simulated or measured: complete without any other file.
struct Recording {
  Plan plan;
  Timeline timeline;
  std::string title;
};

/// The `.timeline` format. Numbers are little-endian; every part starts at a multiple of 8 bytes
/// and is padded with zeros.
///
///   file     = "PENSTOCK", u64 version, u64 bytes of the whole file, the sections, u64 checksum
///   section  = name (24 bytes, zero at the end), element type (8 bytes, the same: "u8", "u32",
///              "i64" or "u64"), u64 number of elements, the elements
///   checksum = over the preceding u64 words w of the file, starting with h = 0xcbf29ce484222325:
///              h = (h ^ w) * 0x100000001b3 modulo 2^64, then h = h ^ (h >> 32)
///
/// The sections are columns; version 2 has exactly these, in this order. "None" is 0xffffffff.
/// Version 3 has further ones, see below, so that a run can be shown of which only parts are read.
///
///   title                u8   UTF-8
///   schedule             u8   UTF-8: the name of the schedule, or of its file
///   environment_lengths  u32  bytes of each key and its value, in turn; keys ascend
///   environment_text     u8   the keys and values, without separators
///   plan_hash            u64  one element: `plan_hash` of the plan below
///   ranks                u32  one element
///   microbatches         u32  one element: of one iteration
///   iteration            u32  one element
///   link_from, link_to   u32  by link: a rank, or at one end 0xffffffff, host memory, or
///                             0xfffffffe, the rank's copies in the other data replicas
///   class_pass           u8   by work class: 0 F, 1 B, 2 I, 3 W, 4 R, 5 U, 6 E, 7 L, 8 and 9 an
///                             activation or gradient transfer, 10 and 11 an evicted and a
///                             loaded activation, 12 all-reduce of gradients over data replicas,
///                             13 all-gather of weights, 14 the gradient of tied embeddings
///   class_stage          u32  a stage; of a transfer the sender's
///   class_resource       u32  a rank, or ranks + a link
///   class_buffer         u32  of a transfer: its buffer class; else none
///   class_partner        u32  in a fused cell: the class of the other part; else none
///   class_follows        u8   1: the second part of a fused cell
///   class_recomputes     u8   1: begins with recomputation
///   class_effects        u32  number of memory effects, in the order of the next columns
///   effect_buffer        u32  by memory effect: a buffer class
///   effect_at_end        u8   1: when the task ends; 0: when it starts
///   effect_takes         u8   1: a buffer is allocated; 0: freed
///   buffer_kind          u8   by buffer class: 0 parameters, 1 stash, 2 receive, 3 gradient,
///                             4 weight gradients, 5 optimiser, 6 versions, 7 pending weight,
///                             8 workspace, 9 recomputed activations
///   buffer_stage         u32  a stage
///   buffer_rank          u32  a rank
///   model_stage          u32  by stage: its index in its chain
///   work                 u32  by task, in topological order: a work class
///   microbatch           u32  a microbatch
///   input                u32  none, a task, or 0x80000000 + an index into `inputs`
///   inputs               u32  lists of input tasks: their number (at least 2), then the tasks
///   followers            u32  the second parts of fused cells, ascending
///   begin, end           i64  by task: picoseconds since the run started
///   last_input           u32  the listed input that arrived last, or none
///   slowed               i64  by task, or empty: picoseconds of slowdown due to others
///   memory_wait          i64  by task, or empty: picoseconds waiting for memory
///   memory_rank          u32  by memory sample, ordered by rank, then time: a rank
///   memory_time          i64  picoseconds since the run started
///   memory_bytes         u64  held by the rank from then on
///
/// Version 3 has these between `model_stage` and `work`:
///
///   block_begin, _end    i64  by 65,536 tasks: the earliest begin and the latest end of them
///   block_checksum       u64  the checksum of their work, microbatch, input, begin, end and
///                             last_input, each padded
///   makespan             i64  one element
///   rank_facts           i64  by rank, 11: start, end, busy time, number of actions, and idle
///   time:
///                             warm-up, dependency, contention, transfer, memory, launch, drain
///   lane_rank            u32  by lane of the overview, which shows a rank
///   lane_kind            u8   0 compute, 1 send, 2 receive, 3 idle time
///   lane_bin             i64  the width of its bins, the first of which begins with the run
///   lane_unit            i64  of its cells, in picoseconds
///   lane_categories      u32  how many it has in `category`
///   lane_cells           u32  how many it has in `cell`
///   category             u8   passes, or causes of idle time in the order above; ascending
///   cell                 u32  by bin, then category: busy or idle time
///   head_checksum        u64  one element: the checksum of all before this section
std::string write_timeline(const Plan& plan, const Timeline& timeline, std::string_view title);
/// The same with an overview, in version 3.
std::string write_timeline(const Plan& plan, const Timeline& timeline, std::string_view title,
                           const TimelineOverview& overview);

/// The columns of some tasks.
struct TaskColumns {
  std::vector<std::uint32_t> work;
  std::vector<Microbatch> microbatch;
  std::vector<TaskId> input;
  std::vector<Time> begin, end;
  std::vector<TaskId> last_input;
};
std::uint64_t checksum_of(const TaskColumns& block);

/// A recording that is too large to be held: its tasks come in blocks.
struct StreamedRecording {
  const Plan& plan;          // but for the tasks
  const Timeline& timeline;  // the same
  std::string title;
  std::uint32_t tasks = 0;
  /// Calls `visit` with all tasks in order, 65,536 at a time. Several times, always with the same.
  std::function<void(const std::function<void(const TaskColumns&)>& visit)> for_each_block;
};
/// Writes version 3 piece by piece.
void write_timeline(const StreamedRecording& recording, const TimelineOverview& overview,
                    const std::function<void(std::string_view)>& write);

/// Reads a `.timeline` file. Everything is checked, so a plan from a file is as valid as a lowered
/// one. Throws InputError for other files and versions, truncated or corrupt ones, and
/// contradictions.
Recording read_timeline(std::string_view bytes);

}  // namespace penstock
