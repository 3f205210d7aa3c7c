#include "validate/store/utc.hpp"

#include <fmt/format.h>

#include <chrono>

namespace penstock {
namespace {

constexpr std::string_view form = "0000-00-00T00:00:00Z";
constexpr std::int64_t day_seconds = 86'400;

bool has_form(std::string_view text) {
  if (text.size() != form.size()) return false;
  for (std::size_t i = 0; i < form.size(); ++i) {
    const bool digit = text[i] >= '0' && text[i] <= '9';
    if (form[i] == '0' ? !digit : text[i] != form[i]) return false;
  }
  return true;
}

int number_at(std::string_view text, std::size_t place, std::size_t digits) {
  int number = 0;
  for (const char c : text.substr(place, digits)) number = number * 10 + (c - '0');
  return number;
}

}  // namespace

std::optional<std::int64_t> utc_seconds(std::string_view text) {
  if (!has_form(text)) return std::nullopt;
  const std::chrono::year_month_day date(
      std::chrono::year(number_at(text, 0, 4)),
      std::chrono::month(static_cast<unsigned>(number_at(text, 5, 2))),
      std::chrono::day(static_cast<unsigned>(number_at(text, 8, 2))));
  const int hour = number_at(text, 11, 2);
  const int minute = number_at(text, 14, 2);
  const int second = number_at(text, 17, 2);
  if (!date.ok() || hour > 23 || minute > 59 || second > 59) return std::nullopt;
  const std::int64_t days = std::chrono::sys_days(date).time_since_epoch().count();
  return days * day_seconds + hour * 3600 + minute * 60 + second;
}

std::string utc_text(std::int64_t seconds) {
  const std::int64_t days = seconds / day_seconds - (seconds % day_seconds < 0 ? 1 : 0);
  const std::int64_t rest = seconds - days * day_seconds;
  const std::chrono::year_month_day date{
      std::chrono::sys_days(std::chrono::days(static_cast<int>(days)))};
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}Z", static_cast<int>(date.year()),
                     static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
                     rest / 3600, rest / 60 % 60, rest % 60);
}

}  // namespace penstock
