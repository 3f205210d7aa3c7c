#include "validate/backends/cuda/gpu_watch.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdio>

namespace penstock {

GpuWatch::GpuWatch(std::chrono::milliseconds limit) : limit_(limit), thread_([this] { watch(); }) {}

GpuWatch::~GpuWatch() {
  {
    const std::lock_guard lock(mutex_);
    done_ = true;
  }
  wake_.notify_one();
  thread_.join();
}

GpuWatch::Place GpuWatch::begin(const std::string& doing) {
  const std::lock_guard lock(mutex_);
  return calls_.insert(calls_.end(), {doing, Clock::now() + limit_});
}

void GpuWatch::end(Place place) {
  const std::lock_guard lock(mutex_);
  calls_.erase(place);
}

/// Without the end of any object: destructors would wait for what hangs.
void GpuWatch::watch() {
  const std::chrono::milliseconds pause = std::min(limit_ / 4, std::chrono::milliseconds(250));
  std::unique_lock lock(mutex_);
  while (!wake_.wait_for(lock, pause, [this] { return done_; })) {
    if (calls_.empty() || Clock::now() < calls_.front().until) continue;
    std::fprintf(stderr, "penstock: error: %s: no end after %g s; the process ends\n",
                 calls_.front().doing.c_str(), static_cast<double>(limit_.count()) / 1e3);
    std::fflush(stdout);
    _exit(hung_exit);
  }
}

}  // namespace penstock
