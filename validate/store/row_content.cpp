#include "validate/store/row_content.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <chrono>
#include <cmath>

#include "validate/statistics/bootstrap.hpp"
#include "validate/wire/bytes.hpp"

namespace penstock {
namespace {

std::optional<std::string> text_fault(std::string_view what, std::string_view text) {
  if (text.size() > RowLimits::text_bytes) {
    return fmt::format("its {} is longer than {} bytes", what, RowLimits::text_bytes);
  }
  const bool plain = std::none_of(text.begin(), text.end(), [](char c) {
    return static_cast<unsigned char>(c) < 0x20 || c == 0x7f;
  });
  if (plain) return std::nullopt;
  return fmt::format("its {} holds control characters", what);
}

std::optional<std::string> facts_fault(const ProfileRow& row) {
  if (row.environment.size() > RowLimits::facts) {
    return fmt::format("its environment has more than {} keys", RowLimits::facts);
  }
  for (const auto& [key, value] : row.environment) {
    if (key.empty() || key.find('=') != std::string::npos) {
      return "its environment has a key that is empty or holds a \"=\"";
    }
    for (const std::string* text : {&key, &value}) {
      if (auto fault = text_fault("environment", *text)) return fault;
    }
  }
  return std::nullopt;
}

std::optional<std::string> samples_fault(const ProfileRow& row) {
  if (row.samples_ns.empty()) return "it has no samples";
  if (row.samples_ns.size() > RowLimits::samples) {
    return fmt::format("it has more than {} samples", RowLimits::samples);
  }
  for (std::size_t i = 0; i < row.samples_ns.size(); ++i) {
    const double sample = row.samples_ns[i];
    if (std::isfinite(sample) && sample >= 0) continue;
    return fmt::format("its sample {} is {}; a time is 0 or more", i, sample);
  }
  if (std::isfinite(row.canary_ns) && row.canary_ns >= 0) return std::nullopt;
  return fmt::format("its canary took {}; a time is 0 or more", row.canary_ns);
}

/// Fields with their lengths, so that different rows never give the same bytes.
void append(std::string& all, std::string_view field) {
  all += fmt::format("{}:", field.size());
  all += field;
}

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

std::optional<std::string> row_fault(const ProfileRow& row) {
  if (row.point.kernel.empty()) return "its kernel has no name";
  const std::pair<std::string_view, const std::string*> texts[] = {
      {"kernel", &row.point.kernel}, {"pass", &row.point.pass},
      {"shape", &row.point.shape},   {"condition", &row.point.condition},
      {"build", &row.build},         {"time of measurement", &row.measured_at}};
  for (const auto& [what, text] : texts) {
    if (auto fault = text_fault(what, *text)) return fault;
  }
  if (!utc_seconds(row.measured_at)) {
    return fmt::format("it was measured at \"{}\"; a time reads 2026-11-21T18:40:00Z",
                       row.measured_at);
  }
  if (auto fault = facts_fault(row)) return fault;
  return samples_fault(row);
}

std::string facts_text(const std::map<std::string, std::string>& facts) {
  std::string text;
  for (const auto& [key, value] : facts) text += fmt::format("{}={}\n", key, value);
  return text;
}

std::optional<std::map<std::string, std::string>> facts_of(std::string_view text) {
  std::map<std::string, std::string> facts;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    if (end == std::string_view::npos) return std::nullopt;
    const std::string_view line = text.substr(0, end);
    const std::size_t equals = line.find('=');
    if (equals == std::string_view::npos) return std::nullopt;
    if (!facts.emplace(line.substr(0, equals), line.substr(equals + 1)).second) return std::nullopt;
    text.remove_prefix(end + 1);
  }
  return facts;
}

std::vector<std::byte> samples_bytes(std::span<const double> samples) {
  ByteWriter out;
  out.reserve(samples.size() * sizeof(double));
  for (const double sample : samples) out.f64(sample);
  return {out.bytes().begin(), out.bytes().end()};
}

std::optional<std::vector<double>> samples_of(std::span<const std::byte> bytes) {
  if (bytes.size() % sizeof(double) != 0) return std::nullopt;
  ByteReader in(bytes);
  std::vector<double> samples(bytes.size() / sizeof(double));
  for (double& sample : samples) sample = in.f64();
  return samples;
}

std::int64_t row_checksum(const ProfileRow& row) {
  std::string all;
  for (const std::string* text : {&row.point.kernel, &row.point.pass, &row.point.shape,
                                  &row.point.condition, &row.build, &row.measured_at}) {
    append(all, *text);
  }
  append(all, facts_text(row.environment));
  std::vector<double> numbers{row.canary_ns + 0.0};  // SQLite stores no -0
  numbers.insert(numbers.end(), row.samples_ns.begin(), row.samples_ns.end());
  const std::vector<std::byte> bytes = samples_bytes(numbers);
  all.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  return std::bit_cast<std::int64_t>(text_hash(all));
}

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
