#include "sim/base/parameters.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "sim/base/error.hpp"

namespace penstock {
namespace {

void check_names(std::string_view taker, std::span<const Parameter> parameters,
                 const NamedNumbers& given, std::string_view word) {
  std::vector<std::string_view> known;
  for (const Parameter& parameter : parameters) known.push_back(parameter.name);
  for (const auto& number : given) {
    if (std::ranges::find(known, number.first) != known.end()) continue;
    throw InputError(pointer_step(number.first),
                     fmt::format("unknown {} \"{}\"; {} takes {}", word, number.first, taker,
                                 fmt::join(known, ", ")));
  }
}

double value_of(std::string_view taker, const Parameter& parameter, const NamedNumbers& given) {
  const auto found = given.find(parameter.name);
  if (found == given.end()) {
    if (parameter.otherwise) return *parameter.otherwise;
    throw InputError(pointer_step(parameter.name),
                     fmt::format("\"{}\" is missing; {} needs it ({})", parameter.name, taker,
                                 parameter.summary));
  }
  const double value = found->second;
  const bool fits = value >= parameter.least && value <= parameter.most &&
                    (!parameter.whole || std::floor(value) == value);
  if (fits) return value;
  throw InputError(
      pointer_step(parameter.name),
      fmt::format("{} is not a {}number from {} to {} ({})", value, parameter.whole ? "whole " : "",
                  parameter.least, parameter.most, parameter.summary));
}

}  // namespace

NamedNumbers settled_numbers(std::string_view taker, std::span<const Parameter> parameters,
                             const NamedNumbers& given, std::string_view word) {
  check_names(taker, parameters, given, word);
  NamedNumbers numbers;
  for (const Parameter& parameter : parameters) {
    numbers[std::string(parameter.name)] = value_of(taker, parameter, given);
  }
  return numbers;
}

}  // namespace penstock
