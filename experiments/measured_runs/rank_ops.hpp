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

/// An op as a trace shows it: what it is, when, and in which step of the training.
struct MeasuredOp {
  Action action;
  KinetoSpan span;  // since the base of its trace; once ranks are merged, on their common clock
  std::optional<std::uint32_t> step;  // the N of ProfilerStep#N; nothing without such annotations
};

/// How the times of ops came about.
enum class TimesOf : std::uint8_t {
  kernels,             // from the first to the last kernel that the host launched in an annotation
  device_annotations,  // annotations on the device
  host_annotations,    // annotations on the host, of a trace without devices
  bursts,              // kernels between messages
};
/// In words: "kernels launched in annotations".
const char* text(TimesOf times);

/// A name and how often it came.
using NameCount = std::pair<std::string, std::size_t>;

/// The ops of one rank.
struct RankOps {
  std::vector<MeasuredOp> ops;  // by begin
  TimesOf times = TimesOf::kernels;
  std::size_t outside_steps = 0;          // ops that are in no step, and left out
  std::vector<std::string> broken_steps;  // which steps were left out, and why
};

/// The steps of a training, as its profiler marked them: when each began and ended.
class ProfilerSteps {
 public:
  /// Of the host's annotations "ProfilerStep#N", or of the device's, which are known by their
  /// begins only.
  ProfilerSteps(const KinetoTrace& trace, bool on_device);

  bool empty() const { return steps_.empty(); }
  /// The step that a moment is in.
  std::optional<std::uint32_t> at(std::int64_t ns) const;

 private:
  struct Step {
    KinetoSpan span;
    std::uint32_t number;
  };
  std::vector<Step> steps_;  // by begin
};

/// Launches by correlation, for works to find theirs.
class LaunchIndex {
 public:
  explicit LaunchIndex(const KinetoTrace& trace);
  /// The launch of a work, if it is in the trace.
  const KinetoLaunch* of(const KinetoWork& work) const;

 private:
  std::vector<KinetoLaunch> launches_;  // by correlation
};

}  // namespace penstock
