#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "hardware_models/codecs/coding/bits.hpp"
#include "hardware_models/codecs/coding/block_format.hpp"
#include "sim/base/parameters.hpp"

namespace penstock {

/// A codec: one .cpp in this folder.
struct CodecEntry {
  std::string_view name;
  std::string_view summary;
  std::span<const Parameter> parameters;
  /// Bits of a packed block. Throws InputError with a pointer below the codec for inconsistent
  /// parameters.
  std::uint32_t (*block_bits)(const CodecNumbers& numbers);
  /// For consistent parameters.
  BlockFormat (*format)(const CodecNumbers& numbers);
  /// Both take whole blocks.
  void (*encode)(const BlockFormat& format, std::span<const float> block, BitWriter& packed);
  void (*decode)(const BlockFormat& format, BitReader& packed, std::span<float> block);
};

/// All codecs, by name.
std::span<const CodecEntry* const> codec_entries();

/// The entry of a codec. Throws InputError with a pointer below the codec for an unknown name.
const CodecEntry& codec_entry(const CodecSpec& spec);

/// The parameters of a codec, each checked by itself. Throws InputError as above.
CodecNumbers codec_numbers(const CodecEntry& entry, const CodecSpec& spec);

/// Bits per encoded value in whole blocks, shared bits included. Throws InputError as above, also
/// for inconsistent parameters.
double bits_per_value(const CodecSpec& spec);

}  // namespace penstock
