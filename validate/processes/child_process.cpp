#include "validate/processes/child_process.hpp"

#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <iterator>
#include <stdexcept>
#include <system_error>
#include <thread>
#include <utility>

namespace penstock {
namespace {

#if defined(__SANITIZE_THREAD__)
#define PENSTOCK_THREAD_SANITIZER 1
#elif defined(__has_feature)
#define PENSTOCK_THREAD_SANITIZER __has_feature(thread_sanitizer)
#else
#define PENSTOCK_THREAD_SANITIZER 0
#endif

/// The threads of this process, without the background thread of the thread sanitizer.
std::ptrdiff_t threads_here() {
  constexpr std::ptrdiff_t of_sanitizer = PENSTOCK_THREAD_SANITIZER;
  std::error_code error;
  const std::filesystem::directory_iterator all("/proc/self/task", error);
  return error ? 1 : std::distance(begin(all), end(all)) - of_sanitizer;
}

/// A joined thread may still be listed for a moment.
void check_alone() {
  const Moment end = after(std::chrono::seconds(1));
  while (threads_here() > 1) {
    if (std::chrono::steady_clock::now() > end) {
      throw std::runtime_error(
          fmt::format("a program with {} threads cannot start processes", threads_here()));
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

/// In the new process: ends with its parent and ignores signals meant for it. On ^C the parent
/// decides.
void tie_to(pid_t parent) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(1);
  for (const int one : {SIGTERM, SIGHUP, SIGQUIT, SIGPIPE, SIGXCPU, SIGCHLD, SIGABRT, SIGSEGV,
                        SIGBUS, SIGFPE, SIGILL}) {
    std::signal(one, SIG_DFL);
  }
  std::signal(SIGINT, SIG_IGN);
}

std::string ending_text(int status) {
  if (WIFSIGNALED(status)) return fmt::format("signal {}", WTERMSIG(status));
  return fmt::format("exit code {}", WEXITSTATUS(status));
}

}  // namespace

ChildProcess::~ChildProcess() {
  if (pid_ == 0) return;
  kill(pid_, SIGKILL);
  while (waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) continue;
}

std::optional<std::string> ChildProcess::ending(Moment end) {
  while (pid_ != 0) {
    int status = 0;
    if (waitpid(pid_, &status, WNOHANG) == pid_) {
      status_ = status;
      pid_ = 0;
    } else if (std::chrono::steady_clock::now() >= end) {
      return std::nullopt;
    } else {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }
  if (!status_) return std::nullopt;
  return ending_text(*status_);
}

std::vector<std::unique_ptr<ChildProcess>> start_children(
    std::uint32_t count, const std::function<void(std::uint32_t, Control&)>& life) {
  check_alone();
  const pid_t parent = getpid();
  std::vector<std::unique_ptr<ChildProcess>> children;
  for (std::uint32_t which = 0; which < count; ++which) {
    auto [ours, its] = connected_pair();
    std::fflush(nullptr);  // avoids writing buffers twice
    const pid_t pid = fork();
    if (pid < 0) throw std::system_error(errno, std::generic_category(), "starting a process");
    if (pid > 0) {
      children.push_back(std::make_unique<ChildProcess>(pid, std::move(ours)));
      continue;
    }
    tie_to(parent);
    ours = Descriptor();
    for (auto& other : children) {
      other->pid_ = 0;  // not ours to end
      other.reset();
    }
    Control control(std::move(its));
    life(which, control);
    _exit(0);  // skips destructors and buffers copied from the parent
  }
  return children;
}

}  // namespace penstock
