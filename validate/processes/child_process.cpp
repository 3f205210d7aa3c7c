#include "validate/processes/child_process.hpp"

#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <iterator>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>
#include <utility>

#include "validate/job/rank_program.hpp"
#include "validate/ranks/rank_runner.hpp"
#include "validate/transports/tcp.hpp"
#include "validate/transports/tcp_peers.hpp"

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

/// The actions of ranks and the transfers they request.
std::vector<TaskId> tasks_of(const Job& job, const RankGroup& ranks) {
  const std::vector<RankProgram> programs = rank_programs(job.priced.plan);
  std::vector<TaskId> tasks;
  for (std::uint32_t rank = ranks.first; rank < ranks.end; ++rank) {
    for (const Step& step : programs[rank]) {
      tasks.push_back(step.task);
      if (step.beside != no_task) tasks.push_back(step.beside);
      for (const TensorSend& sending : step.early) tasks.push_back(sending.transfer);
      for (const TensorSend& sending : step.sends) tasks.push_back(sending.transfer);
    }
  }
  return tasks;
}

std::vector<Descriptor> sockets_of(const ProcessJob& all, std::uint32_t process, Control& control) {
  const Moment end = after(all.start_limit);
  const Listener listener = listen_on_loopback();
  control.send(MessageType::port, body_of(std::vector{listener.port}));
  const auto message = control.receive();
  if (!message || message->type != MessageType::ports) throw SocketError("received no ports");
  const Greeting greeting{.token = all.token,
                          .process = process,
                          .processes = static_cast<std::uint32_t>(all.groups.size()),
                          .plan = plan_hash(all.job->priced.plan)};
  return connect_peers(listener, ports_in(*message), greeting, end);
}

/// Reports why it stops, if the parent still listens.
void give_up(Control& control, const std::exception& error) {
  try {
    control.send(MessageType::broken, body_of(std::string(error.what())));
  } catch (const std::exception&) {
    return;
  }
}

/// Runs the work of one process while it listens for messages.
class Server {
 public:
  Server(const ProcessJob& all, std::uint32_t process, Control& control)
      : control_(control),
        tasks_(tasks_of(*all.job, all.groups[process])),
        links_(boxes_of(*all.job), all.groups, process, sockets_of(all, process, control),
               all.wait_limit),
        part_{all.groups[process], links_, *all.line},
        backend_(all.make(*all.job, part_)) {}

  void serve() {
    control_.send(MessageType::ready);
    while (const auto message = control_.receive()) {
      if (message->type == MessageType::quit) break;
      obey(message->type);
    }
    links_.halt();
  }

 private:
  void obey(MessageType type) {
    if (type == MessageType::report)
      control_.send(MessageType::progress, body_of(links_.progress()));
    if (type == MessageType::halt) links_.halt();
    if (type == MessageType::halt_stuck) links_.halt_stuck();
    if (type == MessageType::total) {
      begin([this] { control_.send(MessageType::totalled, body_of(backend_->numbers())); });
    }
    if (type == MessageType::describe) {
      begin([this] { control_.send(MessageType::described, body_of(backend_->environment())); });
    }
    if (type == MessageType::profile) {
      begin([this] { control_.send(MessageType::profiled, body_of(backend_->profile())); });
    }
    if (type == MessageType::run) begin([this] { run(); });
  }

  /// Runs in a thread, so that progress requests can still be answered.
  template <class Work>
  void begin(const Work& work) {
    worker_ = std::jthread([this, work] {
      try {
        work();
      } catch (const std::exception& error) {
        give_up(control_, error);
      }
    });
  }

  void run() {
    const auto outcome = backend_->run();
    if (const auto* halt = std::get_if<Standstill>(&outcome)) {
      return control_.send(MessageType::fault, body_of(*halt));
    }
    const auto& timeline = std::get<Timeline>(outcome);
    PartRun ran{{}, backend_->disturbances()};
    for (const TaskId task : tasks_) {
      ran.spans.push_back({task, {timeline.begin[task], timeline.end[task]}});
    }
    control_.send(MessageType::ran, body_of(ran));
  }

  Control& control_;
  std::vector<TaskId> tasks_;
  TcpLinks links_;
  RunPart part_;
  std::unique_ptr<Backend> backend_;
  std::jthread worker_;  // last, so it ends before the members that it uses
};

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
  if (WIFSIGNALED(*status_)) return fmt::format("signal {}", WTERMSIG(*status_));
  return fmt::format("exit code {}", WEXITSTATUS(*status_));
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

void end_children(std::vector<std::unique_ptr<ChildProcess>>& children,
                  const std::vector<MessageType>& last, std::chrono::milliseconds limit) {
  for (const auto& child : children) {
    try {
      for (const MessageType type : last) child->control().send(type);
    } catch (const SocketError&) {
      continue;  // already ended
    }
  }
  const Moment end = after(limit);
  for (const auto& child : children) child->ending(end);
  children.clear();
}

std::chrono::milliseconds run_limit(const Job& job, std::chrono::milliseconds least, double times) {
  double ns = 0;
  for (TaskId task = 0; task < job.priced.plan.tasks(); ++task) {
    if (job.priced.plan.is_link(job.priced.plan.class_of(task).resource)) continue;
    ns += static_cast<double>(job.task_ns(task));
  }
  const double most = static_cast<double>(least.count()) + times * ns / 1e6;
  return std::chrono::milliseconds(static_cast<std::int64_t>(std::min(most, 3'600'000.0)));
}

void serve(const ProcessJob& all, std::uint32_t process, Control& control) {
  try {
    Server(all, process, control).serve();
  } catch (const std::exception& error) {
    give_up(control, error);
  }
}

}  // namespace penstock
