#include "hardware_models/codecs/reference/codec.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "sim/base/error.hpp"

namespace penstock {

Codec make_codec(const CodecSpec& spec) {
  const CodecEntry& entry = codec_entry(spec);
  const CodecNumbers numbers = codec_numbers(entry, spec);
  const std::uint32_t block_bits = entry.block_bits(numbers);
  return {&entry, entry.format(numbers), block_bits};
}

BlockOrder::BlockOrder(const BlockFormat& format, std::size_t count)
    : block_(format.block), stride_(format.stride), columns_(std::min(stride_, count)) {
  const std::size_t rows = (count + stride_ - 1) / stride_;
  blocks_a_column_ = std::max<std::size_t>(1, (rows + block_ - 1) / block_);
}

std::size_t packed_bytes(const Codec& codec, std::size_t count) {
  return (BlockOrder(codec.format, count).blocks() * codec.block_bits + 7) / 8;
}

std::vector<std::uint8_t> encode(const Codec& codec, std::span<const float> values) {
  const BlockOrder order(codec.format, values.size());
  std::vector<float> block(codec.format.block);
  BitWriter packed;
  for (std::size_t b = 0; b < order.blocks(); ++b) {
    for (std::size_t i = 0; i < block.size(); ++i) {
      const std::size_t position = order.position(b, i);
      block[i] = position < values.size() ? values[position] : 0;
    }
    codec.entry->encode(codec.format, block, packed);
  }
  return packed.take();
}

std::vector<float> decode(const Codec& codec, std::span<const std::uint8_t> packed,
                          std::size_t count) {
  if (packed.size() != packed_bytes(codec, count)) {
    throw InputError(fmt::format("got {} packed bytes; {} values of {} take {}", packed.size(),
                                 count, codec.entry->name, packed_bytes(codec, count)));
  }
  const BlockOrder order(codec.format, count);
  std::vector<float> block(codec.format.block);
  std::vector<float> values(count);
  BitReader reader(packed);
  for (std::size_t b = 0; b < order.blocks(); ++b) {
    codec.entry->decode(codec.format, reader, block);
    for (std::size_t i = 0; i < block.size(); ++i) {
      const std::size_t position = order.position(b, i);
      if (position < count) values[position] = block[i];
    }
  }
  return values;
}

}  // namespace penstock
