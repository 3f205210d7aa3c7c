#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "sim/order/communication.hpp"
#include "sim/plan/plan.hpp"
#include "sim/timeline/timeline.hpp"

namespace penstock::testing {

/// Which parts of a PyTorch profiler trace to write.
struct KinetoStyle {
  bool annotations = true;          // on the host, around each op
  bool device_annotations = false;  // on the device, with a second one on the message stream
  bool launches = true;             // they link kernels to the host
  bool kernels = true;
  bool messages = true;        // kernels of sends and receives, on their own stream
  bool named_messages = true;  // whether these state the message
  bool steps = true;           // ProfilerStep#N, from 3 on
  bool rank_known = true;      // distributedInfo
  bool info_last = false;      // and baseTimeNanoseconds after the events
  bool optimizer = false;      // a kernel of the main thread after each step
  std::int64_t base_ns = 1'743'521'598'000'000'000;  // of rank 0
  std::int64_t base_step_ns = 0;                     // offset of the base from one rank to the next
  std::string format = "PP:{stage}{pass}{microbatch}";
  std::string backend = "nccl";
  // What hosts issue right behind ops, by rank; of steps that differ, by their number.
  std::vector<std::vector<CommCell>> comms = {};
  std::map<std::uint32_t, std::vector<std::vector<CommCell>>> comms_of_step = {};
};

/// The profiler trace of one rank for consecutive runs of a plan, in Kineto's format: times in
/// microseconds with three decimals, relative to a base; device annotations that begin 1 ns early
/// and last 2 ns longer; a backward launched by another thread; unrelated events in between. Each
/// op is two kernels with 1 ns between them.
std::string kineto_text(const Plan& plan, const std::vector<Timeline>& steps, std::uint32_t rank,
                        const KinetoStyle& style = {});

/// A time of a timeline in whole nanoseconds, as in the traces.
std::int64_t whole_ns(Time time);

}  // namespace penstock::testing
