#include "experiments/input/long_work/interruption.hpp"

#include <sys/time.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <ctime>
#include <forward_list>
#include <mutex>
#include <string_view>
#include <utility>

namespace penstock {

/// Never freed: a signal handler may be reading an entry.
struct UnfinishedFile::Entry {
  std::string path;
  std::atomic<bool> unfinished = true;
  Entry* next = nullptr;

  /// Head of the list. Static, because a signal handler reads it.
  static std::atomic<Entry*> first;
};

constinit std::atomic<UnfinishedFile::Entry*> UnfinishedFile::Entry::first = nullptr;

namespace {

/// A file or an empty folder. Async-signal-safe.
void remove_path(const std::string& path) {
  if (::unlink(path.c_str()) != 0) ::rmdir(path.c_str());
}

}  // namespace

/// The newest first: files before the folders that they are in. Async-signal-safe.
void remove_unfinished() {
  for (auto* entry = UnfinishedFile::Entry::first.load(); entry != nullptr; entry = entry->next) {
    if (entry->unfinished) remove_path(entry->path);
  }
}

namespace {

/// ": TEXT" of the note, or null. Static, because a signal handler reads it; never freed.
std::atomic<const std::string*> interrupt_note = nullptr;

void write_error(std::string_view text) {
  [[maybe_unused]] const auto written = ::write(STDERR_FILENO, text.data(), text.size());
}

/// A progress bar stays on its line; the message starts on the next one. Async-signal-safe.
[[noreturn]] void end_with(int code, std::string_view text, const std::string* more = nullptr) {
  remove_unfinished();
  if (::isatty(STDERR_FILENO) == 1) write_error("\n");
  write_error(text);
  for (const std::string* one : {more, interrupt_note.load()}) {
    if (one != nullptr) write_error(*one);
  }
  write_error("\n");
  ::_exit(code);
}

extern "C" void on_interrupt(int /*signal*/) {
  end_with(interrupted_exit, "penstock: interrupted");
}

/// What is said when the time of `end_after` is over. Static, because a signal handler reads it;
/// never freed.
std::atomic<const std::string*> time_is_over = nullptr;

extern "C" void on_time_over(int /*signal*/) {
  end_with(time_over_exit, "penstock: error: ", time_is_over.load());
}

/// The signal that asked to end; 0: none. Static, because a signal handler writes it.
std::atomic<int> request_signal = 0;

/// When; 0: not yet. Static, because signal handlers of several threads read and write it.
std::atomic<std::int64_t> requested_ns = 0;

/// `timeout` and terminals send one interrupt to a process and to its group: it may come twice.
extern "C" void on_request(int signal) {
  constexpr unsigned to_keep_results_s = 5;
  constexpr std::int64_t same_interrupt_ns = 200'000'000;
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  const std::int64_t ns = std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
  std::int64_t first = 0;
  if (requested_ns.compare_exchange_strong(first, ns)) {
    request_signal = signal;
    if (signal == SIGALRM) ::alarm(to_keep_results_s);
  } else if (ns - first >= same_interrupt_ns) {
    signal == SIGALRM ? on_time_over(signal) : on_interrupt(signal);
  }
}

constexpr std::array interrupting{SIGINT, SIGTERM, SIGHUP};
constexpr std::array time_limit{SIGALRM};
/// These end a program as if it had no handler, but without unfinished files.
constexpr std::array ending{SIGQUIT, SIGPIPE, SIGXCPU};

extern "C" void on_ending(int signal) {
  remove_unfinished();
  ::signal(signal, SIG_DFL);
  ::raise(signal);
}

sigset_t interrupts() {
  sigset_t signals;
  sigemptyset(&signals);
  for (const int signal : interrupting) sigaddset(&signals, signal);
  sigaddset(&signals, SIGALRM);
  return signals;
}

/// `nohup` has signals ignored that must stay so; shells ignore SIGINT for what runs behind `&`,
/// which may be interrupted nevertheless.
bool stays_ignored(int signal) {
  struct sigaction now = {};
  sigaction(signal, nullptr, &now);
  return signal != SIGINT && signal != SIGTERM && now.sa_handler == SIG_IGN;
}

template <class Signals>
void handle(const Signals& signals, void (*handler)(int signal)) {
  struct sigaction action = {};
  action.sa_handler = handler;
  action.sa_mask = interrupts();
  for (const int signal : signals) {
    if (!stays_ignored(signal)) sigaction(signal, &action, nullptr);
  }
}

}  // namespace

void end_on_interrupt() { handle(interrupting, on_interrupt); }

void take_up_signals() {
  std::signal(SIGCHLD, SIG_DFL);
  std::signal(SIGXFSZ, SIG_IGN);
  end_on_interrupt();
  handle(ending, on_ending);
}

void end_after(double seconds, const std::string& text) {
  time_is_over = new std::string(text);
  handle(time_limit, on_time_over);
  const double whole = std::floor(seconds);
  itimerval timer{};
  timer.it_value.tv_sec = static_cast<time_t>(whole);
  timer.it_value.tv_usec = static_cast<suseconds_t>((seconds - whole) * 1e6);
  ::setitimer(ITIMER_REAL, &timer, nullptr);
}

void forget_end_after() {
  const itimerval never{};
  ::setitimer(ITIMER_REAL, &never, nullptr);
}

InterruptRequest::InterruptRequest() {
  request_signal = 0;
  requested_ns = 0;
  handle(interrupting, on_request);
  if (time_is_over != nullptr) handle(time_limit, on_request);
}

InterruptRequest::~InterruptRequest() {
  end_on_interrupt();
  if (time_is_over != nullptr) handle(time_limit, on_time_over);
}

bool InterruptRequest::asked() const { return requested_by() != 0; }

int requested_by() { return request_signal; }

std::string request_text() {
  return requested_by() == SIGALRM ? "error: " + *time_is_over : "interrupted";
}

UnfinishedFile::UnfinishedFile(std::string path) : entry_(new Entry{.path = std::move(path)}) {
  entry_->next = Entry::first;
  while (!Entry::first.compare_exchange_weak(entry_->next, entry_)) continue;
}

UnfinishedFile::UnfinishedFile(UnfinishedFile&& other) noexcept
    : entry_(std::exchange(other.entry_, nullptr)) {}

UnfinishedFile::~UnfinishedFile() {
  if (entry_ == nullptr || !entry_->unfinished) return;
  remove_path(entry_->path);
  entry_->unfinished = false;
}

const std::string& UnfinishedFile::path() const { return entry_->path; }

void UnfinishedFile::keep() { entry_->unfinished = false; }

InterruptNote::InterruptNote(const std::string& text) { set(text); }

InterruptNote::~InterruptNote() { interrupt_note = nullptr; }

void InterruptNote::set(const std::string& text) {
  // All are kept: a signal handler may be reading one.
  static auto& notes = *new std::forward_list<std::string>;
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  interrupt_note = &notes.emplace_front(": " + text);
}

InterruptsWait::InterruptsWait() {
  const sigset_t signals = interrupts();
  pthread_sigmask(SIG_BLOCK, &signals, &before_);
}

InterruptsWait::~InterruptsWait() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

}  // namespace penstock
