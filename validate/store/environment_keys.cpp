#include "validate/store/environment_keys.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

namespace penstock {
namespace {

struct KeyRule {
  std::string_view key;
  KeyRole role;
};

constexpr std::array rules{
    KeyRule{"device", KeyRole::machine},
    KeyRule{"cpu", KeyRole::machine},
    KeyRule{"cc", KeyRole::part},
    KeyRule{"sms", KeyRole::part},
    KeyRule{"partition_sms", KeyRole::part},
    KeyRule{"memory", KeyRole::part},
    KeyRule{"cores", KeyRole::part},
    KeyRule{"driver", KeyRole::version},
    KeyRule{"cudart", KeyRole::version},
    KeyRule{"cublaslt", KeyRole::version},
    KeyRule{"nccl", KeyRole::version},
    KeyRule{"clock_policy", KeyRole::setting},
    KeyRule{"os", KeyRole::system},
    KeyRule{"uuid", KeyRole::recorded},
    KeyRule{"backend", KeyRole::recorded},
    KeyRule{"clock", KeyRole::recorded},
};

/// "580.159.03" gives "580.159".
std::string_view major_and_minor(std::string_view version) {
  const std::size_t first = version.find('.');
  if (first == std::string_view::npos) return version;
  return version.substr(0, version.find('.', first + 1));
}

}  // namespace

KeyRole role_of_key(std::string_view key) {
  for (const KeyRule& rule : rules) {
    if (rule.key == key) return rule.role;
  }
  return KeyRole::recorded;
}

std::vector<EnvironmentDifference> environment_differences(
    const std::map<std::string, std::string>& then, const std::map<std::string, std::string>& now) {
  std::map<std::string, EnvironmentDifference> all;
  for (const auto& [key, value] : then) {
    const KeyRole role = role_of_key(key);
    const auto found = now.find(key);
    const bool missing = found == now.end();
    if (role == KeyRole::recorded || (missing && role != KeyRole::machine)) continue;
    const std::string current = missing ? "" : found->second;
    if (!missing && current == value) continue;
    const bool patch =
        role == KeyRole::version && major_and_minor(value) == major_and_minor(current);
    all[key] = {patch ? KeyRole::patch : role, key, value, current};
  }
  for (const auto& [key, value] : now) {
    if (role_of_key(key) != KeyRole::machine || then.contains(key)) continue;
    all[key] = {KeyRole::machine, key, "", value};
  }
  std::vector<EnvironmentDifference> by_key;
  for (auto& difference : all) by_key.push_back(std::move(difference.second));
  return by_key;
}

bool of_one_machine(const std::map<std::string, std::string>& then,
                    const std::map<std::string, std::string>& now) {
  const bool in_common = std::any_of(then.begin(), then.end(), [&](const auto& fact) {
    return role_of_key(fact.first) == KeyRole::machine && now.contains(fact.first);
  });
  const auto differences = environment_differences(then, now);
  return in_common &&
         std::none_of(differences.begin(), differences.end(),
                      [](const auto& difference) { return difference.role == KeyRole::machine; });
}

std::string identity_of(const std::map<std::string, std::string>& environment) {
  std::string text;
  for (const auto& [key, value] : environment) {
    if (role_of_key(key) != KeyRole::recorded) text += fmt::format("{}={}\n", key, value);
  }
  return text;
}

std::string environment_title(const std::map<std::string, std::string>& environment) {
  std::string title;
  for (const auto& [key, value] : environment) {
    const KeyRole role = role_of_key(key);
    if (role != KeyRole::machine && role != KeyRole::part && role != KeyRole::version) continue;
    const std::string part = role == KeyRole::machine ? value : fmt::format("{} {}", key, value);
    title += title.empty() ? part : ", " + part;
  }
  return title.empty() ? "a computer that is not described" : title;
}

}  // namespace penstock
