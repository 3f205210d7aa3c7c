#include "experiments/input/long_work/progress.hpp"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <system_error>
#include <utility>

#include "experiments/input/long_work/interruption.hpp"

namespace penstock {
namespace {

constexpr std::size_t most_bar_columns = 30;
constexpr std::size_t least_bar_columns = 8;

bool is_set(const char* variable) {
  const char* value = std::getenv(variable);
  return value != nullptr && *value != '\0';
}

bool stderr_is_terminal() {
  const char* terminal = std::getenv("TERM");
  return ::isatty(STDERR_FILENO) == 1 && terminal != nullptr &&
         std::string_view(terminal) != "dumb";
}

std::size_t terminal_columns() {
  constexpr std::size_t usual = 80;
  struct winsize size = {};
  if (::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return usual;
  return size.ws_col;
}

/// Keeps one column free: some terminals wrap after the last one.
std::size_t columns_to_use() { return terminal_columns() - 1; }

std::string duration_text(double seconds) {
  const auto whole = static_cast<std::uint64_t>(std::ceil(seconds));
  if (whole < 60) return fmt::format("{} s", whole);
  if (whole < 3600) return fmt::format("{} min {} s", whole / 60, whole % 60);
  return fmt::format("{} h {} min", whole / 3600, whole / 60 % 60);
}

std::string rate_text(const ProgressState& state) {
  const double rate = static_cast<double>(state.done) / state.elapsed_s;
  return fmt::format("  {:.{}f} {}/s", rate, rate < 10 ? 1 : 0, state.unit);
}

std::string time_left_text(const ProgressState& state) {
  const double left = static_cast<double>(state.total - std::min(state.done, state.total));
  return fmt::format("  {} left",
                     duration_text(left * state.elapsed_s / static_cast<double>(state.done)));
}

/// The numbers after the bar, most important first.
std::string numbers_text(const ProgressState& state, std::size_t columns) {
  std::string text = state.total == 0
                         ? fmt::format("{} {}", state.done, state.unit)
                         : fmt::format("{}/{} {}", state.done, state.total, state.unit);
  if (state.done == 0 || state.elapsed_s <= 0) return text;
  std::string rate = rate_text(state), left = state.total == 0 ? "" : time_left_text(state);
  if (text.size() + rate.size() + left.size() > columns) rate.clear();
  if (text.size() + left.size() > columns) left.clear();
  return text + rate + left;
}

std::string bar_text(double share, std::size_t columns, bool coloured) {
  const auto filled =
      std::min(columns, static_cast<std::size_t>(share * static_cast<double>(columns)));
  std::string text = coloured ? "\033[32m" : "";
  for (std::size_t i = 0; i < columns; ++i) {
    if (i == filled && coloured) text += "\033[0m";
    text += i < filled ? "━" : "─";
  }
  return text + (coloured ? "\033[0m  " : "  ");
}

/// The bytes that follow the first one of a character in UTF-8.
int following(unsigned char first) {
  return first < 0xc2 ? 0 : first < 0xe0 ? 1 : first < 0xf0 ? 2 : 3;
}

}  // namespace

std::string progress_line(const ProgressState& state, std::size_t columns, bool coloured) {
  const std::string numbers = numbers_text(state, columns);
  if (state.total == 0 || numbers.size() + 2 + least_bar_columns > columns) return numbers;
  const std::size_t room = columns - numbers.size() - 2;
  const double share = static_cast<double>(state.done) / static_cast<double>(state.total);
  return bar_text(share, std::min(room, most_bar_columns), coloured) + numbers;
}

std::string progress_line(double share, std::string_view text, std::size_t columns, bool coloured) {
  if (text.size() + 2 + least_bar_columns > columns) return std::string(text.substr(0, columns));
  return bar_text(share, std::min(columns - text.size() - 2, most_bar_columns), coloured) +
         std::string(text);
}

std::string waiting_line(std::string_view what, double elapsed_s) {
  return fmt::format("{}  {}", what, duration_text(std::floor(elapsed_s)));
}

Waiting::Waiting(std::string what) : what_(std::move(what)) {
  if (!stderr_is_terminal()) return;
  const InterruptsWait left_to_the_caller;
  try {
    thread_ = std::thread([this] { show(); });
  } catch (const std::system_error&) {
    // Work goes on unseen.
  }
}

Waiting::~Waiting() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard guard(mutex_);
    ended_ = true;
  }
  end_.notify_one();
  thread_.join();
}

void Waiting::show() {
  const auto begin = std::chrono::steady_clock::now();
  std::unique_lock lock(mutex_);
  bool shown = false;
  while (!end_.wait_for(lock, std::chrono::seconds(1), [this] { return ended_; })) {
    const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - begin;
    std::fputs(fmt::format("\r{}\033[K", waiting_line(what_, elapsed.count())).c_str(), stderr);
    shown = true;
  }
  if (shown) std::fputs("\r\033[K", stderr);
}

OnProgress progress_log() {
  if (stderr_is_terminal()) return {};
  using Clock = std::chrono::steady_clock;
  static constexpr std::chrono::seconds pause(5);
  const auto begin = Clock::now();
  return [begin, next = begin + pause](std::string_view unit, std::uint64_t done,
                                       std::uint64_t total) mutable {
    const Clock::time_point now = Clock::now();
    if (now < next) return;
    next = now + pause;
    const std::chrono::duration<double> elapsed = now - begin;
    const std::string line = numbers_text({unit, done, total, elapsed.count()}, SIZE_MAX);
    say(line);
  };
}

ProgressBar::ProgressBar() : on_terminal_(stderr_is_terminal()), coloured_(!is_set("NO_COLOR")) {}

ProgressBar::~ProgressBar() { erase(); }

void ProgressBar::erase() {
  if (shown_) std::fputs("\r\033[K", stderr);
  shown_ = false;
}

OnProgress ProgressBar::callback() {
  if (!on_terminal_) return {};
  return [this](std::string_view unit, std::uint64_t done, std::uint64_t total) {
    show(unit, done, total);
  };
}

void ProgressBar::show(std::string_view unit, std::uint64_t done, std::uint64_t total) {
  const Clock::time_point now = Clock::now();
  if (unit != unit_) {
    unit_ = unit;
    unit_begin_ = now;
  }
  if (!is_due(now)) return;
  const ProgressState state{unit, done, total,
                            std::chrono::duration<double>(now - unit_begin_).count()};
  draw(progress_line(state, columns_to_use(), coloured_));
}

std::function<void(double share, const std::string& text)> ProgressBar::text_callback() {
  if (!on_terminal_) return {};
  return [this](double share, const std::string& text) {
    if (is_due(Clock::now())) draw(progress_line(share, text, columns_to_use(), coloured_));
  };
}

bool ProgressBar::is_due(Clock::time_point now) {
  if (now < next_ || now - begin_ < std::chrono::seconds(1)) return false;
  next_ = now + std::chrono::milliseconds(100);
  return true;
}

void ProgressBar::draw(const std::string& line) {
  std::fputs(fmt::format("\r{}\033[K", line).c_str(), stderr);
  shown_ = true;
}

std::string printable(std::string_view text) {
  constexpr unsigned char leads_to_controls = 0xc2;  // U+0080 to U+009F
  std::string safe;
  safe.reserve(text.size());
  int inside = 0;  // bytes left of a character
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    const bool continues = byte >= 0x80 && byte < 0xc0;
    const bool lone = continues && inside == 0;
    const bool high = continues && byte < 0xa0 && !safe.empty() &&
                      static_cast<unsigned char>(safe.back()) == leads_to_controls;
    if (high) safe.pop_back();
    if (lone || high || (byte < 0x20 && c != '\n' && c != '\t') || byte == 0x7f) {
      safe += fmt::format("\\u{:04x}", byte);
    } else {
      safe += c;
    }
    inside = continues && inside > 0 ? inside - 1 : following(byte);
  }
  return safe;
}

void say(std::string_view line) {
  // fmt::print would throw if stderr is closed or full.
  std::fputs(fmt::format("penstock: {}\n", printable(line)).c_str(), stderr);
}

int ended_on_request(const std::string& kept) {
  say(request_text() + kept);
  return requested_by() == SIGALRM ? time_over_exit : interrupted_exit;
}

void show(std::string_view text) { fmt::print("{}", printable(text)); }

}  // namespace penstock
