#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace penstock {

/// Numbers by their names.
using NamedNumbers = std::map<std::string, double, std::less<>>;

/// A number that a kind of layer or a codec takes.
struct Parameter {
  std::string_view name;
  std::string_view summary;
  std::optional<double> otherwise;  // what it is when it is not given; without: it must be given
  double least = 1;
  double most = 1e15;
  bool whole = true;
};

/// The numbers that are given to what `taker` names, checked, and the others as they are otherwise.
/// Throws InputError, its place a pointer to the number, for names that are not taken, numbers that
/// do not fit, and those that are missing.
NamedNumbers settled_numbers(std::string_view taker, std::span<const Parameter> parameters,
                             const NamedNumbers& given);

}  // namespace penstock
