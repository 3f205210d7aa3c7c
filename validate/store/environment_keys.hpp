#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace penstock {

/// What a key of an environment means for measurements made there.
enum class KeyRole : std::uint8_t {
  machine,   // another value: another model of computer, of which this one knows nothing
  part,      // another value: the same model, but not the same amount of it
  version,   // another major or minor number: a different program; another patch: perhaps
  setting,   // another value: perhaps a different speed
  system,    // another value: a different speed now and then
  recorded,  // says nothing of speed, such as which piece of a model this is
};
/// Keys that nobody knows are recorded.
KeyRole role_of_key(std::string_view key);

/// How much an environment is no longer what it was.
enum class EnvironmentStep : std::uint8_t { machine, part, version, patch, setting, system };

/// A key with values that count as different in two environments. One of a machine that only one
/// of them has counts too, and is empty in the other; any other key must be in both.
struct EnvironmentDifference {
  EnvironmentStep step = EnvironmentStep::machine;
  std::string key;
  std::string then;
  std::string now;
};

/// By key. Empty: measurements made in one hold in the other.
std::vector<EnvironmentDifference> environment_differences(
    const std::map<std::string, std::string>& then, const std::map<std::string, std::string>& now);

/// Whether both are of one model of computer: the same keys of a machine, at least one, all alike.
bool of_one_machine(const std::map<std::string, std::string>& then,
                    const std::map<std::string, std::string>& now);

/// The keys that count, as text: equal where and only where environments are the same.
std::string identity_of(const std::map<std::string, std::string>& environment);

/// "Xeon, 8 cores": the keys that tell machines apart, for people.
std::string environment_title(const std::map<std::string, std::string>& environment);

}  // namespace penstock
