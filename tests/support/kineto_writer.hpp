#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/plan/plan.hpp"
#include "sim/timeline/timeline.hpp"

namespace penstock::testing {

/// What a made trace is to have of what PyTorch's profiler can take down.
struct KinetoStyle {
  bool annotations = true;          // of the host, around each op
  bool device_annotations = false;  // of the device, with a second one on the stream of messages
  bool launches = true;             // that tie kernels to the host
  bool kernels = true;
  bool messages = true;        // kernels of sends and receives, on a stream of their own
  bool named_messages = true;  // whether these say which they are
  bool steps = true;           // ProfilerStep#N, from 3 on
  bool rank_known = true;      // distributedInfo
  bool info_last = false;      // and baseTimeNanoseconds behind the events
  bool optimizer = false;      // a kernel of the main thread behind each step
  std::int64_t base_ns = 1'743'521'598'000'000'000;  // of rank 0
  std::int64_t base_step_ns = 0;                     // each rank's base is so much later
  std::string format = "PP:{stage}{pass}{microbatch}";
};

/// What one rank's profiler would have written of runs of a plan, one behind the other, in the form
/// that Kineto gives it: times in microseconds with three places, relative to a base; annotations
/// of the device a nanosecond early and two longer; a backward launched by a thread of its own;
/// events that nobody asks for in between. Each op is two kernels, with a nanosecond between them.
std::string kineto_text(const Plan& plan, const std::vector<Timeline>& steps, std::uint32_t rank,
                        const KinetoStyle& style = {});

/// A moment or length of a timeline in whole nanoseconds, as the traces have it.
std::int64_t whole_ns(Time time);

}  // namespace penstock::testing
