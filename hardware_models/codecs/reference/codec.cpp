#include "hardware_models/codecs/reference/codec.hpp"

#include <fmt/format.h>

#include <Eigen/Core>
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>

#include "hardware_models/codecs/coding/block_format.hpp"
#include "sim/base/error.hpp"

namespace penstock {
namespace {

constexpr std::array blocks{16.0, 32.0, 64.0, 128.0};

const Parameter* find_parameter(const CodecEntry& entry, std::string_view name) {
  const auto found = std::ranges::find(entry.parameters, name, &Parameter::name);
  return found == entry.parameters.end() ? nullptr : &*found;
}

bool in_range(const Parameter& parameter, double value) {
  return value >= parameter.least && value <= parameter.most;
}

/// The codec with each block size it supports; unchanged when it has no such parameter.
std::vector<CodecSpec> with_blocks(const CodecEntry& entry) {
  const CodecSpec bare{std::string(entry.name), {}};
  const Parameter* parameter = find_parameter(entry, "block");
  if (parameter == nullptr) return {bare};
  std::vector<CodecSpec> all;
  for (const double block : blocks) {
    if (!in_range(*parameter, block)) continue;
    all.push_back(bare);
    all.back().numbers["block"] = block;
  }
  return all;
}

/// The codec with each number of bits, fewest first.
std::vector<CodecSpec> with_bits(const CodecEntry& entry, const CodecSpec& codec) {
  const Parameter* parameter = find_parameter(entry, "bits");
  if (parameter == nullptr) return {codec};
  std::vector<CodecSpec> all;
  for (double bits = parameter->least; bits <= std::min(parameter->most, 32.0); ++bits) {
    all.push_back(codec);
    all.back().numbers["bits"] = bits;
  }
  return all;
}

/// Bits per value of a format; nothing when the codec rejects its parameters.
std::optional<double> bits_of(const CodecSpec& codec) {
  try {
    return bits_per_value(codec);
  } catch (const InputError&) {
    return std::nullopt;
  }
}

bool takes_less(const MeasuredCodec& a, const MeasuredCodec& b) {
  if (a.bits_per_value != b.bits_per_value) return a.bits_per_value < b.bits_per_value;
  return a.error.sqnr_db > b.error.sqnr_db;
}

/// The search, by codec and block size.
class Search {
 public:
  Search(const ErrorBudget& budget, const ValueDistribution& distribution)
      : budget_(budget),
        distribution_(distribution),
        values_(draw_activations(distribution, tried_values)) {}

  /// Tries formats of one codec and block size, given with the fewest bits first.
  void try_all(const std::vector<CodecSpec>& formats) {
    const double most = result_.formats.empty() ? std::numeric_limits<double>::infinity()
                                                : result_.formats.front().bits_per_value;
    std::vector<MeasuredCodec> within;
    std::vector<CodecSpec> finer;
    for (auto format = formats.rbegin(); format != formats.rend(); ++format) {
      const auto bits = bits_of(*format);
      if (!bits) continue;
      if (*bits > most) {
        finer.push_back(*format);
        continue;
      }
      MeasuredCodec one = measure(*format);
      if (!budget_.allows(one.error)) break;
      within.push_back(std::move(one));
    }
    std::ranges::reverse(within);
    if (within.empty()) return;
    if (!result_.formats.empty() && !takes_less(within.front(), result_.formats.front())) return;
    result_.formats = std::move(within);
    finer_ = std::move(finer);
  }

  FormatSearch take() && {
    for (auto format = finer_.rbegin(); format != finer_.rend(); ++format) {
      MeasuredCodec one = measure(*format);
      if (budget_.allows(one.error)) result_.formats.push_back(std::move(one));
    }
    return std::move(result_);
  }

 private:
  MeasuredCodec measure(const CodecSpec& codec) {
    MeasuredCodec all = measured(fitted_to(distribution_, codec), values_);
    if (!any_ || all.error.sqnr_db > result_.best.error.sqnr_db) result_.best = all;
    any_ = true;
    return all;
  }

  const ErrorBudget& budget_;
  const ValueDistribution& distribution_;
  std::vector<float> values_;
  FormatSearch result_;
  std::vector<CodecSpec> finer_;  // more bits than those in the result, not tried yet
  bool any_ = false;
};

using Values = Eigen::Map<const Eigen::ArrayXf>;

/// The largest error in half steps of its block (from the packed exponent).
double most_half_steps(const Codec& codec, std::span<const std::uint8_t> packed,
                       const Eigen::ArrayXd& error) {
  const auto count = static_cast<std::size_t>(error.size());
  const BlockOrder order(codec.format, count);
  BitReader reader(packed);
  double most = 0;
  for (std::size_t b = 0; b < order.blocks(); ++b) {
    reader.seek(std::uint64_t{b} * codec.block_bits);
    const int exponent =
        exponent_of(reader.get(codec.format.exponent_bits), codec.format.exponent_bits);
    const double unit = half_step(exponent, codec.format.mantissa_bits);
    for (std::size_t i = 0; i < codec.format.block; ++i) {
      const std::size_t position = order.position(b, i);
      if (position >= count) break;
      most = std::max(most, error[static_cast<Eigen::Index>(position)] / unit);
    }
  }
  return most;
}

}  // namespace

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

CodecSpec fitted_to(const ValueDistribution& distribution, CodecSpec codec) {
  const std::array<std::pair<const char*, double>, 3> numbers{
      {{"tail_share", distribution.tail_share},
       {"tail_factor", distribution.tail_factor},
       {"rectified", distribution.rectified ? 1 : 0}}};
  const CodecEntry& entry = codec_entry(codec);
  for (const auto& number : numbers) {
    const Parameter* parameter = find_parameter(entry, number.first);
    if (parameter == nullptr || codec.numbers.contains(number.first)) continue;
    if (number.second != parameter->otherwise) codec.numbers[number.first] = number.second;
  }
  return codec;
}

MeasuredCodec measured(const CodecSpec& codec, std::span<const float> values) {
  return {codec, bits_per_value(codec), codec_error(make_codec(codec), values)};
}

FormatSearch search_formats(std::span<const CodecEntry* const> codecs, const ErrorBudget& budget,
                            const ValueDistribution& distribution) {
  Search search(budget, distribution);
  for (const CodecEntry* entry : codecs) {
    for (const CodecSpec& codec : with_blocks(*entry)) search.try_all(with_bits(*entry, codec));
  }
  return std::move(search).take();
}

CodecError codec_error(const Codec& codec, std::span<const float> values) {
  const std::vector<std::uint8_t> packed = encode(codec, values);
  const std::vector<float> decoded = decode(codec, packed, values.size());
  const auto size = static_cast<Eigen::Index>(values.size());
  const Values before(values.data(), size), after(decoded.data(), size);
  const Eigen::ArrayXd error = (before.cast<double>() - after.cast<double>()).abs();
  const auto values_there = static_cast<double>((before != 0).count());
  const auto flushed = static_cast<double>((before != 0 && after == 0).count());
  return {.sqnr_db = 10 * std::log10(before.cast<double>().square().sum() / error.square().sum()),
          .most_half_steps = most_half_steps(codec, packed, error),
          .flushed_share = values_there == 0 ? 0 : flushed / values_there};
}

}  // namespace penstock
