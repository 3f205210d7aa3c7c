#include "hardware_models/codecs/registry.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "sim/error.hpp"
#include "sim/named.hpp"

namespace penstock {
namespace {

void check_names(const CodecEntry& entry, const CodecSpec& spec) {
  std::vector<std::string_view> known;
  for (const CodecParameter& parameter : entry.parameters) known.push_back(parameter.name);
  for (const auto& given : spec.numbers) {
    if (std::find(known.begin(), known.end(), given.first) != known.end()) continue;
    throw InputError(pointer_step(given.first),
                     fmt::format("unknown key \"{}\"; {} takes {}", given.first, entry.name,
                                 fmt::join(known, ", ")));
  }
}

double value_of(const CodecEntry& entry, const CodecParameter& parameter, const CodecSpec& spec) {
  const auto found = spec.numbers.find(parameter.name);
  if (found == spec.numbers.end()) {
    if (parameter.otherwise) return *parameter.otherwise;
    throw InputError(pointer_step(parameter.name),
                     fmt::format("\"{}\" is missing; {} needs it ({})", parameter.name, entry.name,
                                 parameter.summary));
  }
  const double value = found->second;
  const bool fits = value >= parameter.least && value <= parameter.most &&
                    (!parameter.whole || std::floor(value) == value);
  if (fits) return value;
  throw InputError(pointer_step(parameter.name),
                   fmt::format("{} does not fit; it must be a {}number from {} to {} ({})", value,
                               parameter.whole ? "whole " : "", parameter.least, parameter.most,
                               parameter.summary));
}

}  // namespace

const CodecEntry& codec_entry(const CodecSpec& spec) {
  if (const CodecEntry* entry = find_named(codec_entries(), spec.name)) return *entry;
  throw InputError("/name", fmt::format("unknown name \"{}\"; known: none, {}", spec.name,
                                        names_of(codec_entries())));
}

CodecNumbers codec_numbers(const CodecEntry& entry, const CodecSpec& spec) {
  check_names(entry, spec);
  std::map<std::string, double, std::less<>> values;
  for (const CodecParameter& parameter : entry.parameters) {
    values[std::string(parameter.name)] = value_of(entry, parameter, spec);
  }
  return CodecNumbers(std::move(values));
}

double bits_per_value(const CodecSpec& spec) {
  const CodecEntry& entry = codec_entry(spec);
  const CodecNumbers numbers = codec_numbers(entry, spec);
  return entry.block_bits(numbers) / numbers["block"];
}

}  // namespace penstock
