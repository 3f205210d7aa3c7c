#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "experiments/input/formats/traces/kineto_trace.hpp"
#include "sim/order/communication.hpp"
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

struct RankOps {
  std::vector<MeasuredOp> ops;    // sorted by begin
  std::vector<IssuedComm> comms;  // in their order; only where the host runs the ops, in steps
  TimesOf times = TimesOf::kernels;
  std::size_t outside_steps = 0;          // ops outside of steps, left out
  std::vector<std::string> broken_steps;  // steps left out, with reasons
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

}  // namespace penstock
