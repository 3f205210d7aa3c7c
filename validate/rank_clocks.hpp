#pragma once

#include <algorithm>
#include <cstdint>

#include "validate/backend.hpp"
#include "validate/busy_kernel.hpp"

namespace penstock {

/// The clocks that a rank's thread may run by. Each knows when its rank is free, in nanoseconds
/// since the run began on all of them:
///
///   start()               the run begins; called once, in the thread of the rank
///   now_ns()              when the rank is free
///   await(arrival_ns)     goes on once a tensor is there that arrives then
///   time(asked_ns, work)  does the work of an action that is asked to take so long, says when

/// An action takes what its thread was busy, however often others had the core meanwhile, and
/// tensors come at the logical time that their sender wrote on them.
class LogicalClock {
 public:
  void start() { now_ns_ = 0; }
  std::int64_t now_ns() const { return now_ns_; }
  void await(std::int64_t arrival_ns) { now_ns_ = std::max(now_ns_, arrival_ns); }

  template <class Work>
  Span time(std::int64_t, const Work& work) {
    const std::int64_t busy_before = thread_cpu_ns();
    work();
    const std::int64_t begin_ns = now_ns_;
    now_ns_ += thread_cpu_ns() - busy_before;
    return {begin_ns, now_ns_};
  }

 private:
  std::int64_t now_ns_ = 0;
};

}  // namespace penstock
