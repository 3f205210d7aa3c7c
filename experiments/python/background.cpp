#include "experiments/python/background.hpp"

#include <nanobind/nanobind.h>

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <mutex>
#include <thread>

namespace penstock::python {
namespace {

namespace nb = nanobind;

/// Work on its thread.
struct Task {
  std::mutex mutex;
  std::condition_variable ended;
  bool has_ended = false;
  std::exception_ptr error;
};

/// How many threads work. Never freed: they may outlive static values.
struct Threads {
  std::mutex mutex;
  std::condition_variable changed;
  std::uint64_t running = 0;

  void add(std::int64_t change) {
    const std::scoped_lock lock(mutex);
    running += static_cast<std::uint64_t>(change);
    changed.notify_all();
  }
};

Threads& threads() {
  static auto* const all = new Threads;
  return *all;
}

void work_on(const std::function<void()>& work, Task& task) {
  std::exception_ptr error;
  try {
    work();
  } catch (...) {
    error = std::current_exception();
  }
  const std::scoped_lock lock(task.mutex);
  task.error = error;
  task.has_ended = true;
  task.ended.notify_all();
}

constexpr int interrupted = 130;  // exit code

/// How long Ctrl-C may go unnoticed.
constexpr std::chrono::milliseconds between_checks{20};

/// Whether something is so, or becomes so before the next check.
template <class IsSo>
bool is_so_by_now(std::mutex& mutex, std::condition_variable& changed, IsSo is_so) {
  const nb::gil_scoped_release unlocked;
  std::unique_lock lock(mutex);
  return changed.wait_for(lock, between_checks, is_so);
}

}  // namespace

void run_in_background(std::function<void()> work, std::shared_ptr<std::atomic<bool>> stop) {
  const auto task = std::make_shared<Task>();
  threads().add(1);
  std::thread([task, work = std::move(work)]() mutable {
    work_on(work, *task);
    work = {};  // what it owns goes before the thread counts as ended
    threads().add(-1);
  }).detach();
  while (!is_so_by_now(task->mutex, task->ended, [&] { return task->has_ended; })) {
    if (PyErr_CheckSignals() == 0) continue;
    *stop = true;
    throw nb::python_error();
  }
  if (task->error) std::rethrow_exception(task->error);
}

void wait_for_background() {
  const auto none = [] { return threads().running == 0; };
  while (!is_so_by_now(threads().mutex, threads().changed, none)) {
    if (PyErr_CheckSignals() != 0) std::_Exit(interrupted);
  }
}

}  // namespace penstock::python
