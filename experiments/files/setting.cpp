#include "experiments/files/setting.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "sim/base/error.hpp"

namespace penstock {

std::pair<std::string, std::string> option_setting(const std::string& setting,
                                                   std::string_view section) {
  const std::size_t equals = setting.find('=');
  const std::string pointer = fmt::format("/{}/", section);
  const std::size_t from = setting.starts_with(pointer) ? pointer.size() : 0;
  if (equals == std::string::npos || equals <= from) {
    throw UsageError(fmt::format("--set {}: expected KEY=VALUE", setting));
  }
  const std::string value = setting.substr(equals + 1);
  const auto parsed = nlohmann::json::parse(value, nullptr, false);
  return {setting.substr(from, equals - from),
          parsed.is_string() ? parsed.get<std::string>() : value};
}

}  // namespace penstock
