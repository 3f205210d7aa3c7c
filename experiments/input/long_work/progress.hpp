#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>

namespace penstock {

/// Reports progress of long work; called by one thread. `unit` is the plural of what is counted:
/// "draws". `total` is 0 if unknown. May be empty.
using OnProgress =
    std::function<void(std::string_view unit, std::uint64_t done, std::uint64_t total)>;

struct ProgressState {
  std::string_view unit;
  std::uint64_t done = 0;
  std::uint64_t total = 0;
  double elapsed_s = 0;
};

/// One line for a terminal of `columns`: bar, count, rate and time left, as far as they fit.
std::string progress_line(const ProgressState& state, std::size_t columns, bool coloured);

/// The line for work that does not count its steps: "simulating  12 s".
std::string waiting_line(std::string_view what, double elapsed_s);

/// Shows on standard error, if that is a terminal, what the program is doing and for how long,
/// while this object lives. It appears after a second. Nothing else may be printed meanwhile.
class Waiting {
 public:
  explicit Waiting(std::string what);
  Waiting(const Waiting&) = delete;
  Waiting& operator=(const Waiting&) = delete;
  ~Waiting();

 private:
  void show();

  std::string what_;
  bool ended_ = false;
  std::mutex mutex_;
  std::condition_variable end_;
  std::thread thread_;
};
/// One line for a terminal of `columns`: a bar of the share that is done, and a text, as far as
/// they fit.
std::string progress_line(double share, std::string_view text, std::size_t columns, bool coloured);

/// Reports progress where nobody watches: a line on standard error every few seconds. Empty on a
/// terminal, which has a ProgressBar. Called by one thread at a time.
OnProgress progress_log();

/// A progress bar on standard error, if that is a terminal. It appears after a second, so short
/// work shows none. The destructor erases it. NO_COLOR is honoured.
class ProgressBar {
 public:
  ProgressBar();
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;
  ~ProgressBar();

  /// Empty without a terminal. This object must outlive it.
  OnProgress callback();
  /// The same for work with a budget: shows a text, and the share of the budget that is used.
  std::function<void(double share, const std::string& text)> text_callback();
  /// Call before other output.
  void erase();

 private:
  using Clock = std::chrono::steady_clock;
  void show(std::string_view unit, std::uint64_t done, std::uint64_t total);
  bool is_due(Clock::time_point now);
  void draw(const std::string& line);

  bool on_terminal_;
  bool coloured_;
  bool shown_ = false;
  std::string unit_;
  Clock::time_point begin_ = Clock::now();  // of this object
  Clock::time_point unit_begin_ = begin_;   // of the work counted in `unit_`
  Clock::time_point next_ = begin_;         // when to draw again
};

/// A text that a terminal shows and does not obey: control characters other than line ends and tabs
/// become \u001b, which JSON reads back.
std::string printable(std::string_view text);

/// Writes "penstock: " and a line to stderr, if it is open.
void say(std::string_view line);

/// For work that has ended on request: says why and what was kept, and gives the exit code, 130
/// for an interrupt, 4 for the time limit.
int ended_on_request(const std::string& kept);

/// Writes a report to stdout. Throws std::system_error if it cannot be written.
void show(std::string_view text);

}  // namespace penstock
