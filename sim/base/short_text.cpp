#include "sim/base/short_text.hpp"

#include <fmt/format.h>

#include <array>
#include <cmath>

namespace penstock {

std::string short_time_text(TimeSum time, TimeUnit unit) {
  const double value =
      static_cast<double>(time.picoseconds) / static_cast<double>(unit.picoseconds);
  const double size = std::abs(value);
  if (size >= 1000) return fmt::format("{:.0f}", value);
  if (size == 0 || size >= 1e-4) return fmt::format("{:.4g}", value);
  std::string text =
      fmt::format("{:.{}f}", value, 3 - static_cast<int>(std::floor(std::log10(size))));
  text.erase(text.find_last_not_of('0') + 1);
  return text;
}

std::string short_time_text(TimeSum time) {
  const TimeUnit unit = unit_for(within_clock(magnitude(time)));
  return fmt::format("{} {}", short_time_text(time, unit), unit.name);
}

std::string bytes_text(std::uint64_t bytes) {
  constexpr std::array<const char*, 5> units{"B", "KiB", "MiB", "GiB", "TiB"};
  double value = static_cast<double>(bytes);
  std::size_t unit = 0;
  while (value >= 1024 && unit + 1 < units.size()) {
    value /= 1024;
    ++unit;
  }
  return fmt::format("{:.4g} {}", value, units[unit]);
}

}  // namespace penstock
