#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace penstock {

/// What a changed value of an environment key means for measurements.
enum class KeyRole : std::uint8_t {
  machine,   // another model of computer; measurements of one are not valid for the other
  part,      // the same model in another amount
  version,   // major or minor number: a different program
  patch,     // of a version that differs in nothing else: possibly one; no key is this by itself
  setting,   // possibly a different speed
  system,    // occasionally a different speed
  recorded,  // unrelated to speed, such as a serial number
};
/// Unknown keys are `recorded`.
KeyRole role_of_key(std::string_view key);

/// A key whose values differ in two environments. A key of a machine counts even if only one
/// environment has it, and is empty in the other; any other key must be in both.
struct EnvironmentDifference {
  KeyRole role = KeyRole::machine;
  std::string key;
  std::string then;
  std::string now;
};

/// By key. Empty: measurements of one environment are valid in the other.
std::vector<EnvironmentDifference> environment_differences(
    const std::map<std::string, std::string>& then, const std::map<std::string, std::string>& now);

/// Whether both are the same model of computer: the same machine keys, at least one, with equal
/// values.
bool of_one_machine(const std::map<std::string, std::string>& then,
                    const std::map<std::string, std::string>& now);

/// The keys that count, as text: equal exactly if the environments are the same.
std::string identity_of(const std::map<std::string, std::string>& environment);

/// "Xeon, 8 cores": the keys that identify a machine, for people.
std::string environment_title(const std::map<std::string, std::string>& environment);

}  // namespace penstock
