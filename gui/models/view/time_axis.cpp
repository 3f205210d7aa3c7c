#include "gui/models/view/time_axis.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "experiments/input/files/table.hpp"
#include "experiments/show/pictures/axis.hpp"
#include "sim/base/time.hpp"
#include "sim/base/time_sum.hpp"

namespace penstock {
namespace {

constexpr WideInteger clock_end = max_time.picoseconds;

std::string digits(double value, int decimals) {
  std::string text = fmt::format("{:.{}f}", value, decimals);
  if (text.find('.') != std::string::npos) {
    text.erase(text.find_last_not_of('0') + 1);
    if (text.back() == '.') text.pop_back();
  }
  return text;
}

}  // namespace

std::int64_t TimeAxis::time_at(double x) const {
  constexpr double far = 1e20;
  const double moved = std::round(std::clamp(x * picoseconds_per_pixel, -far, far));
  return static_cast<std::int64_t>(
      std::clamp(origin + static_cast<WideInteger>(moved), -clock_end, clock_end));
}

TimeAxis axis_for(std::int64_t begin, std::int64_t end, double width) {
  const double length = static_cast<double>(std::max<std::int64_t>(1, end - begin));
  return {begin, length / std::max(1.0, width)};
}

TimeAxis zoomed(const TimeAxis& axis, double x, double factor, std::int64_t span, double width) {
  const double widest = std::max(1.0, 4.0 * static_cast<double>(span) / std::max(1.0, width));
  const double scale = std::clamp(axis.picoseconds_per_pixel * factor, 1.0, widest);
  const std::int64_t time = axis.time_at(x);
  const TimeAxis changed{TimeAxis{time, scale}.time_at(-x), scale};
  return panned(changed, 0, span, width);
}

TimeAxis panned(const TimeAxis& axis, double pixels, std::int64_t span, double width) {
  const std::int64_t shown = TimeAxis{0, axis.picoseconds_per_pixel}.time_at(width);
  const std::int64_t margin = shown / 10;
  // From there to the end of the run is no longer than the clock.
  const std::int64_t first = span - max_time.picoseconds;
  const std::int64_t lowest = std::max(std::min<std::int64_t>(margin - shown, 0), first);
  const std::int64_t highest = std::max(lowest, span - margin);
  return {std::clamp(axis.time_at(pixels), lowest, highest), axis.picoseconds_per_pixel};
}

std::vector<RulerTick> ruler_ticks(const TimeAxis& axis, double width, double apart) {
  const RoundStep round = round_step(std::max(1.0, apart * axis.picoseconds_per_pixel), 1);
  const auto step = static_cast<std::int64_t>(round.times(1));
  const std::int64_t last = axis.time_at(width);
  const TimeUnit unit = unit_for({std::max(std::llabs(last), std::llabs(axis.origin))});
  const double in_unit = static_cast<double>(unit.picoseconds);
  const int decimals = std::clamp(
      static_cast<int>(std::ceil(std::log10(in_unit / static_cast<double>(step)))), 0, 12);
  std::vector<RulerTick> ticks;
  std::int64_t first = axis.origin / step * step;
  if (first < axis.origin) first += step;
  for (WideInteger time = first; time <= last; time += step) {
    ticks.push_back(
        {axis.x_of(static_cast<std::int64_t>(time)),
         fmt::format("{} {}", digits(static_cast<double>(time) / in_unit, decimals), unit.name)});
  }
  return ticks;
}

std::string short_time(WideInteger picoseconds) {
  return picoseconds == 0 ? "0" : short_time_text(TimeSum(picoseconds));
}

std::string signed_time(WideInteger picoseconds) {
  if (picoseconds == 0) return "±0";
  return (picoseconds > 0 ? "+" : "") + short_time(picoseconds);
}

std::string exact_time(WideInteger picoseconds, double step) {
  std::int64_t last = 1;  // that the last digit counts
  while (static_cast<double>(last) * 10 <= step) last *= 10;
  const WideInteger size = (magnitude(TimeSum(picoseconds)).picoseconds + last / 2) / last * last;
  if (size == 0) return "0";
  const TimeUnit unit = unit_for(within_clock(TimeSum(size)));
  std::string text = fmt::format("{}{}", picoseconds < 0 ? "-" : "",
                                 static_cast<std::int64_t>(size / unit.picoseconds));
  std::string rest =
      fmt::format("{}", static_cast<std::int64_t>(unit.picoseconds + size % unit.picoseconds));
  rest.erase(rest.find_last_not_of('0') + 1);
  if (rest.size() > 1) text += "." + rest.substr(1);
  return fmt::format("{} {}", text, unit.name);
}

void ViewHistory::move(const CanvasView& view, ViewMove kind) {
  if (view == now()) return;
  const bool goes_on = kind != ViewMove::jump && kind == last_ && at_ > 0;
  views_.resize(at_ + 1);
  if (goes_on) {
    views_.back() = view;
  } else {
    views_.push_back(view);
    if (views_.size() > most_views) views_.erase(views_.begin());
  }
  at_ = views_.size() - 1;
  last_ = kind;
}

void ViewHistory::back() {
  if (can_go_back()) --at_;
  last_ = ViewMove::jump;
}

void ViewHistory::forward() {
  if (can_go_forward()) ++at_;
  last_ = ViewMove::jump;
}

}  // namespace penstock
