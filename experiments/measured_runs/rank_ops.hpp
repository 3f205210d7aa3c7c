#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "experiments/formats/kineto.hpp"
#include "sim/order/schedule.hpp"

namespace penstock {

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
  std::vector<MeasuredOp> ops;  // sorted by begin
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

/// Launches by correlation id.
class LaunchIndex {
 public:
  /// Takes all launches into memory.
  explicit LaunchIndex(const KinetoTrace& trace);
  /// The launch of a work, if it is in the trace.
  const KinetoLaunch* of(const KinetoWork& work) const;

 private:
  std::vector<KinetoLaunch> launches_;  // sorted by correlation
};

}  // namespace penstock
