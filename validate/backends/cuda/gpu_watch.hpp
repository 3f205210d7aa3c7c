#pragma once

#include <chrono>
#include <condition_variable>
#include <list>
#include <mutex>
#include <string>
#include <thread>

namespace penstock {

/// The exit code of a process whose GPU or NCCL does not answer.
constexpr int hung_exit = 5;

/// How long a program waits for its GPU: much longer than anything but the runs of a job takes, and
/// less than a step of the first run on a GPU has, so that a wait without end is named.
constexpr std::chrono::milliseconds usual_gpu_wait{20'000};

/// Ends the process when a call that nobody can interrupt lasts too long, as one that waits for a
/// kernel that hangs. It has a thread of its own, which needs nothing of the GPU.
class GpuWatch {
 public:
  explicit GpuWatch(std::chrono::milliseconds limit);
  ~GpuWatch();
  GpuWatch(const GpuWatch&) = delete;
  GpuWatch& operator=(const GpuWatch&) = delete;

  /// Calls, and returns what that returns.
  template <class Call>
  int during(const std::string& doing, const Call& call) {
    const auto own = begin(doing);
    const int error = call();
    end(own);
    return error;
  }

 private:
  using Clock = std::chrono::steady_clock;
  struct Watched {
    std::string doing;
    Clock::time_point until;
  };
  using Place = std::list<Watched>::iterator;

  Place begin(const std::string& doing);
  void end(Place place);
  void watch();

  const std::chrono::milliseconds limit_;
  std::mutex mutex_;  // guards the next two
  std::list<Watched> calls_;
  bool done_ = false;
  std::condition_variable wake_;
  std::thread thread_;  // last: it uses the others
};

}  // namespace penstock
