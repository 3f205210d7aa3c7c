#include "tests/gui/views/monkey/journal.hpp"

#include <execinfo.h>
#include <pthread.h>
#include <sys/time.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <ctime>

#if defined(__has_feature)
#if __has_feature(address_sanitizer) && !defined(__SANITIZE_ADDRESS__)
#define __SANITIZE_ADDRESS__ 1
#endif
#endif
#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/common_interface_defs.h>
#endif

namespace penstock::monkey {
namespace {

constexpr std::size_t kept = 20;
#ifdef __SANITIZE_ADDRESS__
constexpr double most_cpu_s = 90;
#else
constexpr double most_cpu_s = 30;
#endif
constexpr double most_real_s = 300;

// Signal handlers read these, so they are plain memory.
std::array<std::array<char, 320>, kept> lines;
volatile std::uint64_t begun = 0;
std::uint64_t the_seed = 0;
pthread_t the_thread;
clockid_t thread_clock;
volatile double cpu_at_step = 0;
volatile double real_at_step = 0;

double seconds(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

void put(const char* text) { [[maybe_unused]] const auto n = write(2, text, std::strlen(text)); }

void put(std::uint64_t number) {
  char digits[24];
  char* at = digits + sizeof digits;
  *--at = '\0';
  do *--at = static_cast<char>('0' + number % 10);
  while ((number /= 10) != 0);
  put(at);
}

void print_steps(const char* fault) {
  put("\nmonkey: ");
  put(fault);
  put("\nThe last steps:\n");
  for (std::uint64_t step = begun > kept ? begun - kept : 0; step < begun; ++step) {
    put("  ");
    put(step + 1);
    put(" ");
    put(lines[step % kept].data());
    put("\n");
  }
  put("Again: --seed ");
  put(the_seed);
  put(" --steps ");
  put(begun);
  put("\n");
}

void print_calls() {
  std::array<void*, 64> calls{};
  backtrace_symbols_fd(calls.data(), backtrace(calls.data(), static_cast<int>(calls.size())), 2);
}

void on_crash(int signal) {
  std::signal(signal, SIG_DFL);
  print_steps(signal == SIGABRT ? "the program aborted" : "the program crashed");
  print_calls();
  raise(signal);
}

void on_alarm(int) {
  const bool hangs = seconds(thread_clock) - cpu_at_step > most_cpu_s ||
                     seconds(CLOCK_MONOTONIC) - real_at_step > most_real_s;
  if (!hangs) return;
  if (pthread_equal(pthread_self(), the_thread) == 0) {
    pthread_kill(the_thread, SIGALRM);
    return;
  }
  print_steps("the event loop does not answer");
  print_calls();
  _exit(1);
}

void answered() {
  cpu_at_step = seconds(thread_clock);
  real_at_step = seconds(CLOCK_MONOTONIC);
}

}  // namespace

void start_journal(std::uint64_t seed) {
  the_seed = seed;
  the_thread = pthread_self();
  pthread_getcpuclockid(the_thread, &thread_clock);
  answered();
#ifdef __SANITIZE_ADDRESS__
  __sanitizer_set_death_callback([] { print_steps("the sanitizer found a fault"); });
#else
  for (const int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL}) std::signal(signal, on_crash);
#endif
  std::signal(SIGABRT, on_crash);
  struct sigaction alarm {};
  alarm.sa_handler = on_alarm;
  alarm.sa_flags = SA_RESTART;
  sigaction(SIGALRM, &alarm, nullptr);
  const itimerval each_second{{1, 0}, {1, 0}};
  setitimer(ITIMER_REAL, &each_second, nullptr);
}

void begin_step(const std::string& text) {
  auto& line = lines[begun % kept];
  std::snprintf(line.data(), line.size(), "%s", text.c_str());
  begun = begun + 1;
  answered();
}

void add_to_step(const std::string& text) {
  if (begun == 0) return;
  auto& line = lines[(begun - 1) % kept];
  const std::size_t used = std::strlen(line.data());
  std::snprintf(line.data() + used, line.size() - used, " %s", text.c_str());
}

void fail(const std::string& fault) {
  print_steps(fault.c_str());
  _exit(1);
}

std::uint64_t steps_begun() { return begun; }

}  // namespace penstock::monkey
