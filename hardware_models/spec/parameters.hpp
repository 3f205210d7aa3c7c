#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace penstock {

/// Numbers by name.
using NamedNumbers = std::map<std::string, double, std::less<>>;

/// A parameter of a layer kind or a codec.
struct Parameter {
  std::string_view name;
  std::string_view summary;
  std::optional<double> otherwise;  // default; without it the parameter is required
  double least = 1;
  double most = 1e15;
  bool whole = true;
};

/// The given parameters, checked, and defaults for the others; `taker` names who takes them. Throws
/// InputError with a pointer to the parameter for unknown names, values out of range and missing
/// ones.
NamedNumbers settled_numbers(std::string_view taker, std::span<const Parameter> parameters,
                             const NamedNumbers& given);

}  // namespace penstock
