#include "validate/backends/multi/rank_watch.hpp"

#include <fmt/format.h>

#include <optional>

namespace penstock {

RankWatch::RankWatch(RankCommunicators& communicators, std::chrono::milliseconds limit)
    : communicators_(communicators), thread_([this, limit] { watch(limit); }) {}

RankWatch::~RankWatch() {
  const std::lock_guard lock(mutex_);
  done_ = true;
  wake_.notify_one();
}

std::string RankWatch::fault() const {
  const std::lock_guard lock(mutex_);
  return fault_;
}

bool RankWatch::is_late() const {
  const std::lock_guard lock(mutex_);
  return is_late_;
}

void RankWatch::watch(std::chrono::milliseconds limit) {
  constexpr std::chrono::milliseconds pause{100};
  const auto end = std::chrono::steady_clock::now() + limit;
  std::unique_lock lock(mutex_);
  while (!wake_.wait_for(lock, pause, [this] { return done_; })) {
    lock.unlock();
    auto reason = communicators_.asynchronous_fault();
    const bool is_late = !reason && std::chrono::steady_clock::now() > end;
    if (is_late) {
      reason = fmt::format("it did not end within {} s", static_cast<double>(limit.count()) / 1e3);
    }
    lock.lock();
    if (!reason) continue;
    fault_ = *reason;
    is_late_ = is_late;
    lock.unlock();
    return communicators_.abort();
  }
}

}  // namespace penstock
