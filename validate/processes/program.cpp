#include "validate/processes/program.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <system_error>

#include "validate/wire/sockets.hpp"

namespace penstock {
namespace {

[[noreturn]] void become(char* const* words, const char* errors, int output) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  std::signal(SIGINT, SIG_IGN);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  const int log = open(errors, O_WRONLY | O_CREAT | O_APPEND, 0644);
  const int nothing = open("/dev/null", O_RDONLY);
  dup2(nothing, STDIN_FILENO);
  dup2(output, STDOUT_FILENO);
  dup2(log, STDERR_FILENO);
  execvp(words[0], words);
  _exit(127);
}

/// Hands over whole lines; returns false at the end of the output.
bool hear(int output, std::string& pending, const ProgramRun& run) {
  std::array<char, 4096> buffer{};
  const ssize_t count = read(output, buffer.data(), buffer.size());
  if (count < 0 && errno == EINTR) return true;
  if (count <= 0) return false;
  pending.append(buffer.data(), static_cast<std::size_t>(count));
  for (auto end = pending.find('\n'); end != std::string::npos; end = pending.find('\n')) {
    if (run.heard) run.heard(pending.substr(0, end));
    pending.erase(0, end + 1);
  }
  return true;
}

int ending_of(pid_t pid) {
  int status = 0;
  while (waitpid(pid, &status, 0) < 0) {
    if (errno != EINTR) throw std::system_error(errno, std::generic_category(), "a process");
  }
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

/// Until the output ends; returns whether it was asked to stop.
bool listen(int output, const ProgramRun& run) {
  constexpr int pause_ms = 200;
  std::string pending;
  while (true) {
    if (run.asked_to_stop && run.asked_to_stop()) return true;
    pollfd waiting{.fd = output, .events = POLLIN, .revents = 0};
    if (poll(&waiting, 1, pause_ms) > 0 && !hear(output, pending, run)) return false;
  }
}

}  // namespace

std::optional<int> run_program(const ProgramRun& run) {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) {
    throw std::system_error(errno, std::generic_category(), "a pipe");
  }
  const Descriptor output(ends[0]);
  std::vector<std::string> words = run.words;
  std::vector<char*> raw;
  for (std::string& word : words) raw.push_back(word.data());
  raw.push_back(nullptr);
  const pid_t pid = [&] {
    const Descriptor input(ends[1]);
    const pid_t made = fork();
    if (made == 0) become(raw.data(), run.errors.c_str(), ends[1]);
    return made;
  }();
  if (pid < 0) throw std::system_error(errno, std::generic_category(), "a process");
  const bool stopped = listen(output.number(), run);
  if (stopped) kill(pid, SIGKILL);
  const int code = ending_of(pid);
  return stopped ? std::nullopt : std::optional(code);
}

std::string torch_python() {
  const char* const given = std::getenv("PENSTOCK_PYTHON");
  return given == nullptr || *given == '\0' ? "python3" : given;
}

std::optional<Obstacle> why_no_torch() {
  constexpr int cannot_start = 127;
  const std::string python = torch_python();
  const auto code = run_program(
      {.words = {
           python, "-c",
           "import importlib.util, sys; sys.exit(importlib.util.find_spec('torch') is None)"}});
  if (code == 0) return std::nullopt;
  constexpr const char* way_on =
      "cmake/setup-torch installs PyTorch and prints the path to set PENSTOCK_PYTHON to";
  if (code == cannot_start) {
    return Obstacle{true, fmt::format("cannot start {}; {}", python, way_on)};
  }
  return Obstacle{true, fmt::format("{} has no PyTorch; {}", python, way_on)};
}

JobLength torch_job_length(std::uint32_t ranks) {
  return {.mean_action_ns = 20'000'000, .most_work_ns = std::int64_t{2'000'000'000} * ranks};
}

}  // namespace penstock
