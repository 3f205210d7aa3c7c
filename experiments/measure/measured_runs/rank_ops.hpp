#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "experiments/input/formats/traces/kineto_trace.hpp"
#include "experiments/measure/measured_runs/op_pattern.hpp"
#include "sim/order/communication.hpp"
#include "sim/order/placement.hpp"
#include "sim/order/schedule.hpp"

namespace penstock {

/// What an action does, however it is joined with others.
using ActionKey = std::tuple<Pass, Stage, Microbatch>;
inline ActionKey key_of(const Action& action) {
  return {action.pass, action.stage, action.microbatch};
}

/// An op in a trace.
struct MeasuredOp {
  Action action;
  KinetoSpan span;  // from the base of its trace; after merging ranks, on their common clock
  std::optional<std::uint32_t> step;  // N of ProfilerStep#N; nothing without such annotations
  // Time of the host between the previous op and this one, without waits for receives. Only where
  // the host runs the ops; on a device, it runs ahead of them.
  std::int64_t host_ns = 0;
  std::int64_t lead_ns = 0;  // from the begin of its annotation: a wait for its input, if any
};

/// A SEND or RECV that a host issued, or its wait for a SEND.
struct IssuedComm {
  CommCell cell;
  std::int64_t at_ns = 0;  // as those of ops
  std::optional<std::uint32_t> step;
};

/// The source of op times.
enum class TimesOf : std::uint8_t {
  kernels,             // from first to last kernel launched in an annotation
  device_annotations,  // annotations on the device
  host_annotations,    // annotations on the host; the trace has neither device nor operators
  host_operators,      // from the first operator in an annotation to its end, on the host
  bursts,              // kernels between messages
};
/// "kernels launched in annotations".
const char* text(TimesOf times);

/// A name and how often it occurs.
using NameCount = std::pair<std::string, std::size_t>;

/// A step that is left out.
struct BrokenStep {
  std::optional<std::uint32_t> number;  // as of an op
  std::string why;
};

struct RankOps {
  std::vector<MeasuredOp> ops;    // sorted by begin
  std::vector<IssuedComm> comms;  // in their order; only where the host runs the ops, in steps
  TimesOf times = TimesOf::kernels;
  std::int64_t overlap_ns = 0;    // the most that an op ran on beside the next one
  std::size_t outside_steps = 0;  // ops outside of steps, left out
  std::vector<BrokenStep> broken_steps;
};

/// The steps of a training run, as marked by its profiler.
class ProfilerSteps {
 public:
  /// From "ProfilerStep#N" on the host or on the device. On the device, only their begins are
  /// known.
  ProfilerSteps(const KinetoTrace& trace, bool on_device);

  bool empty() const { return steps_.empty(); }
  /// The step that contains a moment, if any.
  std::optional<std::uint32_t> at(std::int64_t ns) const;

 private:
  struct Step {
    KinetoSpan span;
    std::uint32_t number;
  };
  std::vector<Step> steps_;  // sorted by begin
};

/// Calls `visit` for each work with the launch of its number, nullptr if the trace has none; of
/// several launches with one number, the first. In the order of numbers, and in little memory.
void for_each_work(
    const KinetoTrace& trace,
    const std::function<void(const KinetoWork& work, const KinetoLaunch* launch)>& visit);

/// By lane, up to the last that ran works: whether it is a stream of a device that runs kernels,
/// and not only messages, collectives and copies.
std::vector<bool> computing_lanes(const KinetoTrace& trace);

/// Which names in a trace the patterns match, most frequent first.
struct NameUse {
  std::vector<NameCount> matched;
  std::vector<NameCount> unmatched;  // without "ProfilerStep#N" and the names of NCCL
};
NameUse name_use(const KinetoTrace& trace, const std::vector<OpPattern>& patterns);

/// The ops of a rank, from its annotations. `stage` is the stage of ops whose names do not state
/// one.
///
/// A host annotation marks the launches of an op. The op ran from the begin of the first to the end
/// of the last kernel or copy that any thread launched meanwhile, without messages and collectives
/// and without copies on streams that only copy, and ended where the next op began at the latest.
/// An op that launches nothing in the whole trace has no length. A trace without launches uses
/// annotations on the device. These may be too short for a backward: Kineto ties them to the thread
/// that made them, and backwards run on another thread. A trace without a device uses annotations
/// on the host.
///
/// Throws InputError for nested matching annotations, unless the outer one marks the op of the
/// inner one without its stage, as PyTorch's GPipe does, and if the trace gives no times.
RankOps ops_of_annotations(const KinetoTrace& trace, const std::vector<OpPattern>& patterns,
                           Stage stage);

/// When the ops of an annotation ran: one, or the two parts of an overlap cell.
struct OpSpans {
  KinetoSpan whole;
  std::optional<std::int64_t> turn_ns = {};  // where the second part of an overlap cell begins
  std::int64_t pause_ns = 0;                 // from the end of its first part to there
  std::int64_t host_ns = 0;  // of the host between the annotations, without waits for messages
  std::int64_t lead_ns = 0;  // from the begin of the annotation to the op

  KinetoSpan of_part(std::size_t part, std::size_t parts) const;
};

/// By annotation, sorted by begin: from the begin of the first to the end of the last kernel or
/// copy launched in it, but for copies on streams that only copy; nothing without any. Of an
/// overlap cell, another thread than the annotation's launches the backward.
std::vector<std::optional<OpSpans>> spans_of_works(
    const KinetoTrace& trace, const std::vector<KinetoAnnotation>& annotations);

/// By annotation, sorted by begin, of a trace without a device: from its first operator that does
/// more than to allocate to its end. Ahead of that, PyTorch waits for a receive. An
/// annotation without operators, such as the input gradient of the first stage, does nothing: its
/// op has no length. Empty if most annotations have none: then operators were not traced.
std::vector<std::optional<OpSpans>> spans_of_operators(
    const KinetoTrace& trace, const std::vector<KinetoAnnotation>& annotations);

/// The ops of a rank with a known order, from a trace without annotations. Messages and changes of
/// the launching thread (PyTorch runs backwards on a separate thread) split the kernels of the
/// busiest stream into bursts. The k-th burst of a step is the k-th action of the order. Bursts
/// after the last action, such as those of an optimizer, are left out if threads are known.
///
/// Throws InputError if two consecutive actions cannot be told apart, and if no step has the bursts
/// that the order requires.
RankOps ops_of_bursts(const KinetoTrace& trace, const Schedule& schedule,
                      const Placement& placement, Rank rank);

/// The evidence in a trace about boundaries between ops.
struct PartingFacts {
  bool threads_known = false;  // every kernel has a known launching thread
  bool sends_named = false;    // sends can be identified
};

/// Kernels of one op, or of several ops with only uncertain cuts between them. Each part extends
/// from one uncertain cut to the next.
struct Burst {
  std::vector<KinetoSpan> parts;
  std::optional<std::uint32_t> thread;  // launched by this thread
};

/// The kernels of the busiest stream, by step, split into bursts.
struct KernelBursts {
  PartingFacts facts;
  std::map<std::optional<std::uint32_t>, std::vector<Burst>> steps;
};

/// Splits the kernels of the busiest stream into bursts. A cut is certain where a message to
/// another rank begins, because its op has ended by then, and where the launching thread changes. A
/// cut is uncertain where a message from another rank ends, because its op cannot have begun
/// before, and at both ends of a message of unknown direction. Uncertain cuts are ignored while a
/// kernel runs. Kernels outside of all steps are left out. Throws InputError for a trace without
/// kernels.
KernelBursts kernel_bursts(const KinetoTrace& trace);

}  // namespace penstock
