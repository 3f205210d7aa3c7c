#include "experiments/python/background.hpp"

#include <nanobind/nanobind.h>

#include <chrono>
#include <condition_variable>
#include <cstdint>
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

/// How long Ctrl-C may go unnoticed.
constexpr std::chrono::milliseconds between_checks{20};

bool ended_by_now(Task& task) {
  const nb::gil_scoped_release unlocked;
  std::unique_lock lock(task.mutex);
  return task.ended.wait_for(lock, between_checks, [&] { return task.has_ended; });
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
  while (!ended_by_now(*task)) {
    if (PyErr_CheckSignals() == 0) continue;
    *stop = true;
    throw nb::python_error();
  }
  if (task->error) std::rethrow_exception(task->error);
}

void wait_for_background() {
  std::unique_lock lock(threads().mutex);
  threads().changed.wait(lock, [] { return threads().running == 0; });
}

}  // namespace penstock::python
