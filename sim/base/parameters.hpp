#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace penstock {

/// Numbers by name.
using NamedNumbers = std::map<std::string, double, std::less<>>;

/// A number that an entry of a registry takes by name.
struct Parameter {
  std::string_view name;
  std::string_view summary;
  std::optional<double> otherwise;  // default; without it the parameter is required
  double least = 1;
  double most = 1e15;
  bool whole = true;
};

/// The given parameters, checked, and defaults for the others; `taker` names who takes them, `word`
/// what they are called. Throws InputError with a pointer to the parameter for unknown names,
/// values out of range and missing ones.
NamedNumbers settled_numbers(std::string_view taker, std::span<const Parameter> parameters,
                             const NamedNumbers& given, std::string_view word = "key");

/// The values of parameters, defaults filled in.
class SettledNumbers {
 public:
  explicit SettledNumbers(NamedNumbers values) : values_(std::move(values)) {}

  double operator[](std::string_view name) const { return values_.find(name)->second; }
  std::uint32_t whole(std::string_view name) const {
    return static_cast<std::uint32_t>((*this)[name]);
  }

 protected:
  NamedNumbers values_;
};

}  // namespace penstock
