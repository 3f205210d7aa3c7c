#include "validate/backends/cuda/check/step_process.hpp"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <exception>
#include <thread>

namespace penstock {
namespace {

/// Waits for a child process; one that takes too long is ended.
ProcessEnd end_of(pid_t child, std::chrono::seconds most) {
  const auto until = std::chrono::steady_clock::now() + most;
  int status = 0;
  while (waitpid(child, &status, WNOHANG) == 0) {
    if (std::chrono::steady_clock::now() > until) {
      kill(child, SIGKILL);
      waitpid(child, &status, 0);
      return {std::nullopt, "took more than " + std::to_string(most.count()) + " s"};
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  if (!WIFEXITED(status))
    return {std::nullopt, "ended by signal " + std::to_string(WTERMSIG(status))};
  const int code = WEXITSTATUS(status);
  return {code, code == 0 ? "" : "exit " + std::to_string(code)};
}

}  // namespace

int code_of(const std::function<int()>& work) {
  try {
    return work();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "penstock_gpu_check: %s\n", error.what());
    return 1;
  }
}

ProcessEnd run_apart(const std::function<int()>& work, std::chrono::seconds most) {
  std::fflush(nullptr);  // else both processes print it
  const pid_t child = fork();
  if (child < 0) return {std::nullopt, "no process could be made"};
  if (child > 0) return end_of(child, most);
  const int code = code_of(work);
  std::fflush(nullptr);
  _exit(code);
}

}  // namespace penstock
