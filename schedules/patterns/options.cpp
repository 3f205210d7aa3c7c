#include "schedules/patterns/options.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace penstock {

std::uint32_t ScheduleOptions::number(std::string_view name, std::uint32_t otherwise) const {
  const auto found = settings.find(name);
  if (found == settings.end()) return otherwise;
  const std::string& text = found->second;
  std::uint32_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || value == 0) {
    throw RuleError(fmt::format("{} is \"{}\": must be a positive whole number", name, text));
  }
  return value;
}

std::string_view ScheduleOptions::choice(std::string_view name,
                                         std::span<const std::string_view> values) const {
  const auto found = settings.find(name);
  if (found == settings.end()) return values.front();
  const auto value = std::find(values.begin(), values.end(), found->second);
  if (value == values.end()) {
    throw RuleError(fmt::format("{} is \"{}\": must be one of {}", name, found->second,
                                fmt::join(values, ", ")));
  }
  return *value;
}

void check_options(std::string_view rule, std::span<const ScheduleOption> known,
                   const ScheduleOptions& options) {
  for (const auto& setting : options.settings) {
    const std::string& name = setting.first;
    const bool is_known =
        std::any_of(known.begin(), known.end(),
                    [&](const ScheduleOption& option) { return option.name == name; });
    if (is_known) continue;
    std::string takes;
    for (const ScheduleOption& option : known) {
      takes += fmt::format("{}{}", takes.empty() ? "" : ", ", option.name);
    }
    throw UnknownOption(name, fmt::format("unknown option \"{}\"; {} takes {}", name, rule,
                                          known.empty() ? "no options" : takes));
  }
}

}  // namespace penstock
