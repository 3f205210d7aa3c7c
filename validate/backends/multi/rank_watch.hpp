#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>

#include "validate/backends/multi/rank_communicators.hpp"

namespace penstock {

/// Watches the communicators of a rank while it runs: asks them for errors ten times a second, and
/// aborts all when one has an error or the time is up. Then whoever waits for the GPU goes on.
class RankWatch {
 public:
  RankWatch(RankCommunicators& communicators, std::chrono::milliseconds limit);
  /// Stops watching.
  ~RankWatch();
  RankWatch(const RankWatch&) = delete;
  RankWatch& operator=(const RankWatch&) = delete;

  /// Why it aborted; empty if it did not.
  std::string fault() const;
  bool is_late() const;

 private:
  void watch(std::chrono::milliseconds limit);

  RankCommunicators& communicators_;
  mutable std::mutex mutex_;  // guards the next three
  std::string fault_;
  bool is_late_ = false;
  bool done_ = false;
  std::condition_variable wake_;
  std::jthread thread_;  // last: it uses the others
};

}  // namespace penstock
