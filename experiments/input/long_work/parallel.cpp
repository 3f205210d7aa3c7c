#include "experiments/input/long_work/parallel.hpp"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

#include "experiments/input/long_work/interruption.hpp"

namespace penstock {
namespace {

/// The exception of the lowest number so far.
class Failure {
 public:
  void keep(std::size_t number, std::exception_ptr error) {
    const std::lock_guard guard(mutex_);
    if (error_ && number > number_) return;
    number_ = number;
    error_ = std::move(error);
  }
  /// Whether a lower number has failed, so that this one no longer matters.
  bool is_before(std::size_t number) {
    const std::lock_guard guard(mutex_);
    return error_ && number_ < number;
  }
  void rethrow() const {
    if (error_) std::rethrow_exception(error_);
  }

 private:
  std::mutex mutex_;
  std::size_t number_ = 0;
  std::exception_ptr error_;
};

}  // namespace

void in_parallel(std::size_t count, const std::function<void(std::size_t)>& work,
                 const std::function<void(std::size_t)>& on_done, std::size_t most) {
  std::atomic<std::size_t> next = 0, done = 0;
  Failure failure;
  const auto try_to = [&](std::size_t number, const auto& step) {
    try {
      step();
    } catch (...) {
      failure.keep(number, std::current_exception());
    }
  };
  const auto take_turns = [&](bool reports) {
    for (std::size_t number = next++; number < count; number = next++) {
      if (failure.is_before(number)) return;
      try_to(number, [&] { work(number); });
      const std::size_t so_far = ++done;
      if (reports) try_to(number, [&] { on_done(so_far); });
    }
  };
  const std::size_t cores =
      std::min<std::size_t>(most, std::max(1U, std::thread::hardware_concurrency()));
  std::vector<std::thread> others;
  try {
    const InterruptsWait left_to_the_caller;
    for (std::size_t i = 1; i < std::min(cores, count); ++i) others.emplace_back(take_turns, false);
  } catch (const std::system_error&) {
    // The running threads do all the work.
  }
  take_turns(on_done != nullptr);
  for (std::thread& other : others) other.join();
  failure.rethrow();
  if (on_done && count > 0) on_done(count);
}

}  // namespace penstock
