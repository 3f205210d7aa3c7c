#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "hardware_models/codecs/coding/bits.hpp"
#include "hardware_models/codecs/coding/block_format.hpp"
#include "hardware_models/spec/parameters.hpp"

namespace penstock {

/// One codec. A codec is one .cpp of this folder.
struct CodecEntry {
  std::string_view name;
  std::string_view summary;
  std::span<const Parameter> parameters;
  /// Bits of a packed block. Throws InputError, its place a pointer below the codec, for numbers
  /// that do not go together.
  std::uint32_t (*block_bits)(const CodecNumbers& numbers);
  /// For numbers that go together.
  BlockFormat (*format)(const CodecNumbers& numbers);
  /// Both for whole blocks.
  void (*encode)(const BlockFormat& format, std::span<const float> block, BitWriter& packed);
  void (*decode)(const BlockFormat& format, BitReader& packed, std::span<float> block);
};

/// All codecs, by name.
std::span<const CodecEntry* const> codec_entries();

/// The entry of a codec. Throws InputError, its place a pointer below the codec, for a name that
/// there is not.
const CodecEntry& codec_entry(const CodecSpec& spec);

/// The numbers of a codec, checked one by one. Throws InputError likewise.
CodecNumbers codec_numbers(const CodecEntry& entry, const CodecSpec& spec);

/// How many bits an encoded value takes in whole blocks, its share of what blocks have in common
/// included. Throws InputError likewise, also for numbers that do not go together.
double bits_per_value(const CodecSpec& spec);

}  // namespace penstock
