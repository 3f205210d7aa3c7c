#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace penstock {

/// Called while long work goes on, by one thread, with how much of it is done. `unit` is what is
/// counted, in the plural: "draws". `total` is 0 where it is unknown. May be empty.
using OnProgress =
    std::function<void(std::string_view unit, std::uint64_t done, std::uint64_t total)>;

/// How far work is.
struct ProgressState {
  std::string_view unit;
  std::uint64_t done = 0;
  std::uint64_t total = 0;
  double elapsed_s = 0;
};

/// One line for a terminal of `columns`: bar, count, rate and time left, as far as they fit.
std::string progress_line(const ProgressState& state, std::size_t columns, bool coloured);

/// A progress bar on standard error, where that is a terminal. It appears after a second, so that
/// short work shows none, and is erased with this object. NO_COLOR is honoured.
class ProgressBar {
 public:
  ProgressBar();
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;
  ~ProgressBar();

  /// Empty where there is no terminal. This object must outlive it.
  OnProgress callback();
  /// Before something else is printed.
  void erase();

 private:
  using Clock = std::chrono::steady_clock;
  void show(std::string_view unit, std::uint64_t done, std::uint64_t total);

  bool on_terminal_;
  bool coloured_;
  bool shown_ = false;
  std::string unit_;
  Clock::time_point begin_ = Clock::now();  // of this object
  Clock::time_point unit_begin_ = begin_;   // of the work counted in `unit_`
  Clock::time_point next_ = begin_;         // when to draw again
};

}  // namespace penstock
