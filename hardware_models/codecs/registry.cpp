#include "hardware_models/codecs/registry.hpp"

#include <fmt/format.h>

#include "sim/base/error.hpp"
#include "sim/base/named.hpp"

namespace penstock {

const CodecEntry& codec_entry(const CodecSpec& spec) {
  if (const CodecEntry* entry = find_named(codec_entries(), spec.name)) return *entry;
  throw InputError("/name", fmt::format("unknown name \"{}\"; known: auto, none, {}", spec.name,
                                        names_of(codec_entries())));
}

CodecNumbers codec_numbers(const CodecEntry& entry, const CodecSpec& spec) {
  return CodecNumbers(settled_numbers(entry.name, entry.parameters, spec.numbers));
}

double bits_per_value(const CodecSpec& spec) {
  const CodecEntry& entry = codec_entry(spec);
  const CodecNumbers numbers = codec_numbers(entry, spec);
  return entry.block_bits(numbers) / numbers["block"];
}

}  // namespace penstock
